#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kLossesTable = R"(
fdb : mse_loss | T[3,4] T[3,4] | T[3,4] T[3,4] 0 | T[4,3]' T[4,3] 2 | T[3,4] T[4] 0
fdb : smooth_l1_loss,huber_loss | T[3,4] T[3,4] | T[3,4] T[3,4] 0 0.5 | T[4,3]' T[4,3] 2
fd : soft_margin_loss | T[3,4] T[3,4] | T[3,4] T[3,4] 0
fd : binary_cross_entropy | T[3,4]% T[3,4]% | T[3,4]% T[3,4]% T[4]+ 0 | T[4,3]'% T[4,3]% _ 2
fd : binary_cross_entropy_with_logits | T[3,4] T[3,4]% | T[3,4] T[3,4]% T[4]+ T[4]+ 0 | T[4,3]' T[4,3]% _ _ 2
fd : nll_loss_forward | T[3,4] i[3]<4 _ 1 -100 | T[3,4] i[3]<4 T[4]+ 0 -100 | T[3,4] i[3]=(0,1,2) _ 2 1
  | T[4] i[]<4 _ 1 -100
fd : nll_loss_backward | T[] T[3,4] i[3]<4 _ 1 -100 T[]+ | T[3] T[3,4] i[3]<4 T[4]+ 0 -100 T[]+
  | T[] T[3,4] i[3]=(0,1,2) _ 2 1 T[]+
fd : nll_loss2d_forward | T[2,4,3,3] i[2,3,3]<4 _ 1 -100 | T[2,4,3,3] i[2,3,3]<4 T[4]+ 0 -100
fd : nll_loss2d_backward | T[] T[2,4,3,3] i[2,3,3]<4 _ 1 -100 T[]+
fd : multi_margin_loss | T[3,4] i[3]<4 | T[3,4] i[3]<4 2 0.5 T[4]+ 2
fd : multilabel_margin_loss_forward | T[3,4] i[3,4]=(0,1,-1,0,2,-1,0,0,3,2,1,0) 1
fd : mse_loss_backward | T[] T[3,4] T[3,4] 1 | T[3,4] T[3,4] T[3,4] 0 | T[] T[4,3]' T[4,3] 2
  | T[3,4] T[4] T[3,4] 0 | T[4] T[4] T[3,4] 0
fd : smooth_l1_loss_backward,huber_loss_backward | T[] T[3,4] T[3,4] 1 1.0 | T[3,4] T[3,4] T[3,4] 0 0.5
  | T[3,4] T[4] T[3,4] 0 0.5
fd : soft_margin_loss_backward | T[] T[3,4] T[3,4] 1
fd : binary_cross_entropy_backward | T[] T[3,4]% T[3,4]% | T[3,4] T[3,4]% T[3,4]% T[4]+ 0
fd : multi_margin_loss_backward | T[] T[3,4] i[3]<4 1 1
fd : multilabel_margin_loss_backward
  | T[] T[3,4] i[3,4]=(0,1,-1,0,2,-1,0,0,3,2,1,0) 1 T[3,4]=(1,1,0,0,0,0,1,0,1,1,1,1)
fd : _ctc_loss | T[6,2,4] i[2,3]=(1,2,3,3,2,1) (6,6) (3,3) | T[6,2,4] i[2,2]=(1,2,3,3) (6,6) (2,2) 0 true
)";

}  // namespace antegrad::samples
