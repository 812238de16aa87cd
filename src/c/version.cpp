#include "antegrad/c.h"

const char* antegrad_version(void) { return ANTEGRAD_VERSION; }
