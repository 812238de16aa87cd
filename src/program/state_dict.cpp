// The pickle of a state_dict, as data: dictionaries, texts, numbers, tuples, and three functions of torch and
// collections that make tensors and dictionaries. Nothing is looked up by name, so nothing can be run.
#include <ATen/Functions.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>

#include <cstring>
#include <variant>

#include "antegrad/error.h"
#include "program/state.h"
#include "program/storage_types.h"
#include "program/tensor_file.h"

namespace antegrad::program {
namespace {

struct PickledItem;
using PickledItems = std::vector<PickledItem>;

/// A value on the pickle's stack.
struct PickledItem {
  enum class Kind { Mark, None, Number, Text, Tuple, Dict, Function, Storage, Tensor, Other };
  Kind kind = Kind::None;
  int64_t number = 0;
  std::string text;                     ///< Text, Function; Storage: its record
  std::shared_ptr<PickledItems> items;  ///< Tuple; Dict: keys and values in turn
  at::ScalarType dtype = at::kFloat;    ///< Storage
  at::Tensor tensor;
  int depth = 0;  ///< of tuples in tuples
};

class StateDictReader {
 public:
  explicit StateDictReader(const ZipFile& file) : file_(file), pickle_(file.read("data.pkl")) {}

  TensorsByName read() {
    while (step()) {
    }
    if (stack_.size() != 1 || stack_[0].kind != PickledItem::Kind::Dict)
      refuse("it is no dictionary of tensors");
    TensorsByName out;
    const auto& items = *stack_[0].items;
    for (size_t i = 0; i + 1 < items.size(); i += 2)
      if (items[i].kind == PickledItem::Kind::Text && items[i + 1].kind == PickledItem::Kind::Tensor)
        out[items[i].text] = items[i + 1].tensor;
    return out;
  }

 private:
  using Item = PickledItem;
  using Kind = PickledItem::Kind;

  [[noreturn]] void refuse(const std::string& fact) const {
    throw Error(ErrorCode::Parse, "program:load_state",
                fmt::format("\"{}\" cannot be read: {}", file_.name(), fact),
                "Write it with torch.save(model.state_dict(), path), or as safetensors");
  }
  const unsigned char* take(uint64_t count) {
    if (count > pickle_.size() - at_) refuse("its pickle is cut off");
    at_ += count;
    return reinterpret_cast<const unsigned char*>(pickle_.data()) + at_ - count;
  }
  uint64_t number(int bytes) {
    const auto* data = take(static_cast<uint64_t>(bytes));
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; --i) value = (value << 8) | data[i];
    return value;
  }
  std::string text(uint64_t length) {
    const auto* data = take(length);
    return {reinterpret_cast<const char*>(data), length};
  }
  std::string line() {
    const auto end = pickle_.find('\n', at_);
    if (end == pickle_.npos) refuse("its pickle is cut off");
    auto out = pickle_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }

  void push(Item item) {
    if (stack_.size() > 1'000'000) refuse("its pickle is too large");
    stack_.push_back(std::move(item));
  }
  void push_number(int64_t value) {
    Item item;
    item.kind = Kind::Number;
    item.number = value;
    push(std::move(item));
  }
  void push_text(Kind kind, std::string value) {
    Item item;
    item.kind = kind;
    item.text = std::move(value);
    push(std::move(item));
  }
  void push_items(Kind kind, PickledItems items) {
    Item item;
    item.kind = kind;
    item.depth = depth_around(items);
    item.items = std::make_shared<PickledItems>(std::move(items));
    push(std::move(item));
  }
  /// What takes items apart recurses.
  int depth_around(const PickledItems& items) const {
    int depth = 0;
    for (const auto& item : items) depth = std::max(depth, item.depth + 1);
    if (depth > 100) refuse("its pickle is nested too deeply");
    return depth;
  }
  Item pop() {
    if (stack_.empty()) refuse("its pickle takes more than it has");
    auto item = std::move(stack_.back());
    stack_.pop_back();
    return item;
  }
  PickledItems pop_to_mark() {
    size_t mark = stack_.size();
    while (mark > 0 && stack_[mark - 1].kind != Kind::Mark) --mark;
    if (mark == 0) refuse("its pickle takes more than it has");
    PickledItems items(std::make_move_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(mark)),
                       std::make_move_iterator(stack_.end()));
    stack_.resize(mark - 1);
    return items;
  }
  void remember(uint64_t place) {
    if (stack_.empty() || place > 10'000'000) refuse("its pickle is damaged");
    memo_[place] = stack_.back();
  }
  void recall(uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) refuse("its pickle is damaged");
    push(found->second);
  }

  /// Carries out one instruction; returns false at the end.
  bool step() {
    switch (const auto op = static_cast<char>(number(1)); op) {
      case '\x80':
        number(1);
        return true;
      case '\x95':
        number(8);
        return true;
      case '.':
        return false;
      case '(':
        push_text(Kind::Mark, {});
        return true;
      case '}':
      case ']':
        push_items(op == '}' ? Kind::Dict : Kind::Tuple, {});
        return true;
      case ')':
        push_items(Kind::Tuple, {});
        return true;
      case 't':
        push_items(Kind::Tuple, pop_to_mark());
        return true;
      case '\x85':
      case '\x86':
      case '\x87':
        return push_last(op - '\x84');
      case 'N':
        push({});
        return true;
      default:
        return step_number(op) || step_text(op) || step_memo(op) || step_object(op) || unknown(op);
    }
  }
  bool push_last(int count) {
    PickledItems items;
    for (int i = 0; i < count; ++i) items.insert(items.begin(), pop());
    push_items(Kind::Tuple, std::move(items));
    return true;
  }
  bool step_number(char op) {
    switch (op) {
      case '\x88':
      case '\x89':
        push_number(op == '\x88');
        return true;
      case 'K':
        push_number(static_cast<int64_t>(number(1)));
        return true;
      case 'M':
        push_number(static_cast<int64_t>(number(2)));
        return true;
      case 'J':
        push_number(static_cast<int32_t>(number(4)));
        return true;
      case '\x8a': {
        const auto length = static_cast<int>(number(1));
        if (length > 8) refuse("it has a number of more than 64 bits");
        push_number(
            length == 0 ? 0 : static_cast<int64_t>(number(length) << (64 - 8 * length)) >> (64 - 8 * length));
        return true;
      }
      case 'G':
        number(8);
        push_text(Kind::Other, {});
        return true;
      default:
        return false;
    }
  }
  bool step_text(char op) {
    switch (op) {
      case 'X':
        push_text(Kind::Text, text(number(4)));
        return true;
      case '\x8c':
        push_text(Kind::Text, text(number(1)));
        return true;
      case 'c': {
        const auto module = line();
        push_text(Kind::Function, module + "." + line());
        return true;
      }
      case '\x93': {
        const auto name = pop(), module = pop();
        push_text(Kind::Function, module.text + "." + name.text);
        return true;
      }
      default:
        return false;
    }
  }
  bool step_memo(char op) {
    switch (op) {
      case 'q':
        remember(number(1));
        return true;
      case 'r':
        remember(number(4));
        return true;
      case '\x94':
        remember(memo_.size());
        return true;
      case 'h':
        recall(number(1));
        return true;
      case 'j':
        recall(number(4));
        return true;
      default:
        return false;
    }
  }
  bool step_object(char op) {
    switch (op) {
      case 's':
      case 'u': {
        PickledItems items;
        if (op == 'u') {
          items = pop_to_mark();
        } else {
          auto value = pop();
          items = {pop(), std::move(value)};
        }
        if (stack_.empty() || stack_.back().kind != Kind::Dict || items.size() % 2 != 0)
          refuse("its pickle is damaged");
        stack_.back().depth = std::max(stack_.back().depth, depth_around(items));
        stack_.back().items->insert(stack_.back().items->end(), items.begin(), items.end());
        return true;
      }
      case 'a':
      case 'e':  // elements of a list, which a state_dict has only in its metadata
        op == 'a' ? (void)pop() : (void)pop_to_mark();
        return true;
      case 'b':  // attributes of the dictionary: its metadata
        pop();
        return true;
      case 'Q':
        push_storage(pop());
        return true;
      case 'R':
      case '\x81': {
        const auto arguments = pop(), function = pop();
        call(function, arguments);
        return true;
      }
      default:
        return false;
    }
  }
  bool unknown(char op) const {
    refuse(fmt::format("its pickle has the instruction {:#x}", static_cast<unsigned char>(op)));
  }

  /// ('storage', torch.FloatStorage, '0', 'cpu', 128)
  void push_storage(const Item& id) {
    if (id.kind != Kind::Tuple || id.items->size() < 3 || (*id.items)[1].kind != Kind::Function)
      refuse("it refers to something else than a storage");
    const auto type = storage_types().find((*id.items)[1].text);
    if (type == storage_types().end()) refuse(fmt::format("{} is unknown", (*id.items)[1].text));
    Item item;
    item.kind = Kind::Storage;
    item.text = "data/" + (*id.items)[2].text;
    item.dtype = type->second;
    push(std::move(item));
  }

  void call(const Item& function, const Item& arguments) {
    const auto& name = function.text;
    if (function.kind != Kind::Function || arguments.kind != Kind::Tuple) refuse("its pickle is damaged");
    if (name == "collections.OrderedDict") return push_items(Kind::Dict, {});
    if (name == "torch._utils._rebuild_tensor_v2") return push_tensor(*arguments.items);
    if (name == "torch._utils._rebuild_parameter" && !arguments.items->empty())
      return push((*arguments.items)[0]);
    refuse(fmt::format("it calls {}, and no pickle is ever run", name));
  }
  std::vector<int64_t> sizes_of(const Item& item) const {
    if (item.kind != Kind::Tuple || item.items->size() > 64) refuse("a tensor has no sizes");
    std::vector<int64_t> out;
    for (const auto& size : *item.items) {
      if (size.kind != Kind::Number || size.number < 0) refuse("a tensor has an impossible size");
      out.push_back(size.number);
    }
    return out;
  }
  /// (storage, offset, sizes, strides, …)
  void push_tensor(const PickledItems& arguments) {
    if (arguments.size() < 4 || arguments[0].kind != Kind::Storage || arguments[1].kind != Kind::Number ||
        arguments[1].number < 0)
      refuse("a tensor is described in an unknown way");
    const auto sizes = sizes_of(arguments[2]), strides = sizes_of(arguments[3]);
    auto& storage = storages_[arguments[0].text];
    if (!storage) {
      const auto bytes = at::empty({static_cast<int64_t>(file_.size_of(arguments[0].text))}, at::kByte);
      file_.read(arguments[0].text, bytes.data_ptr());
      storage = bytes.storage();
    }
    const auto needed =
        sizes.size() == strides.size() ? extent(sizes, strides, arguments[1].number) : std::nullopt;
    if (!needed || *needed > static_cast<int64_t>(storage.nbytes() / c10::elementSize(arguments[0].dtype)))
      refuse("a tensor reaches over more than its storage");
    Item item;
    item.kind = Kind::Tensor;
    item.tensor = at::empty({0}, arguments[0].dtype).set_(storage, arguments[1].number, sizes, strides);
    push(std::move(item));
  }

  const ZipFile& file_;
  std::string pickle_;
  size_t at_ = 0;
  PickledItems stack_;
  std::map<uint64_t, PickledItem> memo_;
  std::map<std::string, at::Storage> storages_;
};

}  // namespace

TensorsByName read_state_dict(const ByteSource& source) {
  const ZipFile file(source);
  return StateDictReader(file).read();
}

}  // namespace antegrad::program
