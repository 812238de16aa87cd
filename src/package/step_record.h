#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "optim/optimizer_class.h"
#include "optim/training_core.h"

namespace antegrad::packaging {

/// The number of a tensor among the weights of a package.
struct WeightNumber {
  int32_t number = 0;
};
/// A field of options or of a state; nothing for an undefined tensor and a number that is not set.
using Field = std::variant<std::monostate, double, bool, int64_t, WeightNumber>;
using Fields = std::map<std::string, Field>;

/// What a package stores of a training step besides the versions of its function.
struct StepRecord {
  optim::Method method = optim::Method::Sgd;
  bool is_eager = false;  ///< Backend::Eager: LibTorch's own step()
  Fields options;         ///< of StepOptions
  Fields defaults;        ///< hyperparameters of groups that are added later
  struct Group {
    std::vector<int32_t> parameters;
    Fields options;
  };
  std::vector<Group> groups;
  struct State {
    int32_t parameter = 0;
    Fields fields;
  };
  std::vector<State> states;
  std::vector<int32_t> trained;  ///< the parameters for which the function returns gradients, in order
  std::optional<Fields> scaler;
  std::optional<Fields> average;
  std::vector<int32_t> averages;     ///< -1: none yet
  std::vector<int32_t> accumulated;  ///< empty, or per trained parameter; -1: nothing yet
  int64_t calls = 0;                 ///< since the last update
  /// How many versions there are of functions that update all parameters at once, by folder.
  std::map<std::string, size_t> functions;
};

std::string write_step(const StepRecord& step);
/// Throws Error(Io) for an invalid text. Numbers of weights are less than `weights`.
StepRecord read_step(const std::string& text, size_t weights);

/// Returns the number of a tensor among the weights; `name` is used if it is not one of them yet.
using NumberOf = std::function<int32_t(const at::Tensor& tensor, const std::string& name)>;
/// Returns the name of a weight.
using NameOf = std::function<std::string(int32_t number)>;
/// Describes a training step as it is now, but for `functions`. `name`: how tensors of its state are named.
StepRecord record_of(const detail::TrainingCore::Impl& core, const std::string& name,
                     const NumberOf& number_of, const NameOf& name_of);

/// Sets fields from a record. Throws Error(Io) for fields that are missing or of another type.
class FieldReader final : public optim::FieldVisitor {
 public:
  /// `tensors`: all weights.
  FieldReader(const Fields& fields, const std::vector<at::Tensor>& tensors)
      : fields_(fields), tensors_(tensors) {}
  void visit(const std::string& name, double& field) override;
  void visit(const std::string& name, std::optional<double>& field) override;
  void visit(const std::string& name, bool& field) override;
  void visit(const std::string& name, int64_t& field) override;
  void visit(const std::string& name, at::Tensor& field) override;

 private:
  template <class T>
  T get(const std::string& name) const;
  const Fields& fields_;
  const std::vector<at::Tensor>& tensors_;
};

/// Shows the fields that a package stores.
void visit_step_options(StepOptions& options, optim::FieldVisitor& visitor);
void visit_scaler(GradScaler& scaler, optim::FieldVisitor& visitor);
void visit_average(WeightAverage& average, optim::FieldVisitor& visitor);

}  // namespace antegrad::packaging
