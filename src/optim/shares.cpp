#include "optim/shares.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/tensor.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>
#include <torch/serialize/archive.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>

#include "antegrad/distributed.h"
#include "antegrad/optimizers.h"
#include "distributed/groups.h"

namespace antegrad::optim {
namespace {

using State = std::unique_ptr<torch::optim::OptimizerParamState>;

const void* memory_of(const at::Tensor& tensor) {
  if (tensor.has_storage()) return tensor.storage().unsafeGetStorageImpl();
  return tensor.unsafeGetTensorImpl();
}

State empty_state(Method method) {
  switch (method) {
    case Method::Sgd:
      return std::make_unique<torch::optim::SGDParamState>();
    case Method::Adam:
      return std::make_unique<torch::optim::AdamParamState>();
    case Method::AdamW:
      return std::make_unique<torch::optim::AdamWParamState>();
    case Method::Adagrad:
      return std::make_unique<torch::optim::AdagradParamState>();
    case Method::RmsProp:
      return std::make_unique<torch::optim::RMSpropParamState>();
    case Method::Lion:
      return std::make_unique<LionParamState>();
    case Method::NAdam:
      return std::make_unique<NAdamParamState>();
    case Method::Lamb:
      return std::make_unique<LambParamState>();
    case Method::Adafactor:
      return std::make_unique<AdafactorParamState>();
    case Method::Muon:
      break;
  }
  return std::make_unique<MuonParamState>();
}

}  // namespace

Shares::Shares(std::string group) : group_(std::move(group)) {
  const auto place = distributed::place_in(group_);
  rank_ = place.rank;
  bytes_.resize(place.size);
}

void Shares::assign(const std::vector<at::Tensor>& parameters) {
  std::map<const void*, int64_t> ranks;  // by memory
  for (const auto& owned : owned_) ranks.emplace(memory_of(owned.parameter), owned.rank);
  struct Memory {
    const void* address;
    int64_t bytes = 0;
  };
  std::vector<Memory> added;
  for (const auto& parameter : parameters) {
    const auto* address = memory_of(parameter);
    if (ranks.contains(address)) continue;
    auto place = std::ranges::find(added, address, &Memory::address);
    if (place == added.end()) place = added.insert(place, {address, 0});
    place->bytes += static_cast<int64_t>(parameter.nbytes());
  }
  std::ranges::stable_sort(added, std::greater(), &Memory::bytes);
  for (const auto& memory : added) {
    const auto least = std::ranges::min_element(bytes_);
    *least += memory.bytes;
    ranks.emplace(memory.address, least - bytes_.begin());
  }
  for (const auto& parameter : parameters)
    if (place_of_.emplace(parameter.unsafeGetTensorImpl(), owned_.size()).second)
      owned_.push_back({parameter, ranks.at(memory_of(parameter))});
}

int64_t Shares::owner_of(const at::Tensor& parameter) const {
  return owned_[place_of_.at(parameter.unsafeGetTensorImpl())].rank;
}

void Shares::drop_others(torch::optim::Optimizer& optimizer) const {
  for (const auto& [parameter, rank] : owned_)
    if (rank != rank_) optimizer.state().erase(parameter.unsafeGetTensorImpl());
}

void Shares::gather(torch::optim::Optimizer& optimizer, Method method) const {
  torch::serialize::OutputArchive own;
  for (size_t i = 0; i < owned_.size(); ++i) {
    const auto found = optimizer.state().find(owned_[i].parameter.unsafeGetTensorImpl());
    if (found == optimizer.state().end() || owned_[i].rank != rank_) continue;
    torch::serialize::OutputArchive state(own.compilation_unit());
    found->second->serialize(state);
    own.write(std::to_string(i), state);
  }
  std::ostringstream bytes;
  own.save_to(bytes);
  for (int64_t rank = 0; rank < std::ssize(bytes_); ++rank) {
    const auto text = gather_from(rank, rank == rank_ ? bytes.str() : "");
    if (rank == rank_) continue;
    std::istringstream stream(text);
    torch::serialize::InputArchive states;
    states.load_from(stream);
    for (const auto& key : states.keys()) {
      torch::serialize::InputArchive archive;
      states.read(key, archive);
      auto state = empty_state(method);
      state->serialize(archive);
      optimizer.state()[owned_.at(std::stoull(key)).parameter.unsafeGetTensorImpl()] = std::move(state);
    }
  }
}

/// Returns the bytes of a process in all of them.
std::string Shares::gather_from(int64_t rank, std::string own) const {
  const auto size = at::full({1}, static_cast<int64_t>(own.size()), at::kLong);
  distributed::start_broadcast(size, rank, group_)();
  const auto bytes = at::empty({size.item<int64_t>()}, at::kByte);
  if (rank == rank_) std::memcpy(bytes.mutable_data_ptr(), own.data(), own.size());
  distributed::start_broadcast(bytes, rank, group_)();
  own.assign(static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(bytes.numel()));
  return own;
}

double Shares::total_norm(double own, double type) const {
  const distributed::Group group(group_);
  const auto all = distributed::all_gather(at::full({1}, own, at::kDouble), group);
  return (type == 0 ? all.sum() : at::linalg_vector_norm(all, type)).item<double>();
}

}  // namespace antegrad::optim
