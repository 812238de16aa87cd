#pragma once
// Includes the public API, except <antegrad/optimizers.h> (optimizers), <antegrad/jit.h> (TorchScript modules),
// <antegrad/program.h> (programs of torch.export), <antegrad/trace.h> (traces) and <antegrad/c.h> (the C API).
#include "antegrad/cache.h"
#include "antegrad/compile.h"
#include "antegrad/control.h"
#include "antegrad/error.h"
#include "antegrad/export.h"
#include "antegrad/grad.h"
#include "antegrad/number.h"
#include "antegrad/optim.h"
#include "antegrad/options.h"
#include "antegrad/package.h"
#include "antegrad/tree.h"
#include "antegrad/value.h"
