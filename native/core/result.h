// Result<T>: a value, or the system's refusal with the step that was refused.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace sallyport {

// `stage` is one of the stage names of src/errors.ts; `path` may be empty.
struct SysError {
  const char* stage;
  int errno_value;
  std::string path;
};

template <class T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that a function returns either with a plain `return`.
  // NOLINTBEGIN(google-explicit-constructor)
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(SysError error) : state_(std::in_place_index<1>, std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  const SysError& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, SysError> state_;
};

}  // namespace sallyport
