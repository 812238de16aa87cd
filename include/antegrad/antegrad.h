#pragma once
// The whole public face of antegrad, but for <antegrad/jit.h>, which is for TorchScript modules.
#include "antegrad/cache.h"
#include "antegrad/compile.h"
#include "antegrad/error.h"
#include "antegrad/export.h"
#include "antegrad/grad.h"
#include "antegrad/options.h"
#include "antegrad/tree.h"
