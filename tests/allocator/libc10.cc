// What PyTorch's libc10.so has of interest here: a function that throws, with a message.
#include <stdexcept>
#include <string>

namespace c10
{
namespace detail
{

[[noreturn]] void torchCheckFail(const char *function, const char *file, unsigned line, const char *message)
{
    throw std::runtime_error(std::string("torch: ") + message + " (" + file + ":" + std::to_string(line) + ", " +
                             function + ")");
}

} // namespace detail
} // namespace c10
