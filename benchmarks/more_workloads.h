#pragma once
// The workloads of WorkloadSet::More; make_workload() finds them by name.
#include "workloads.h"

namespace antegrad::benchmarks {

Workload make_resnet(Scale scale);
Workload make_resnet_block(Scale scale);
Workload make_lstm(Scale scale);
Workload make_lstm_module(Scale scale);
Workload make_gru_module(Scale scale);
Workload make_vae(Scale scale);
Workload make_attention(Scale scale);
Workload make_stencil(Scale scale);

}  // namespace antegrad::benchmarks
