/*
 * Finds out how much memory at an address of the program can be read, with a system call that fails where nothing is
 * mapped, so that a wrong pointer in a payload does not end the program.
 */
#include "agent/nvtx/program_memory.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/nvtx/nvtx.h"
#include "common/memory.h"

/* The address sanitizer's shadow can be read, but not by code that it watches: it is not the program's. */
static bool is_shadow(uint64_t at)
{
#ifdef __SANITIZE_ADDRESS__
#define ASAN_SHADOW 1
#elif defined(__has_feature)
#define ASAN_SHADOW __has_feature(address_sanitizer)
#else
#define ASAN_SHADOW 0
#endif
    return ASAN_SHADOW && at >= UINT64_C(0x7fff8000) && at < UINT64_C(0x10007fff8000);
}

/* The kernel compares the word there before it moves none of the threads that wait for it. */
static bool page_is_readable(uint64_t at)
{
    static uint32_t other;
    int saved = errno;
    uint64_t aligned = at & ~(uint64_t)(sizeof(uint32_t) - 1);
    if (aligned == 0 || is_shadow(at))
        return false;
    long result = syscall(SYS_futex, aligned, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0, &other, 0);
    bool readable = result == 0 || errno != EFAULT;
    errno = saved;
    return readable;
}

size_t program_readable(uint64_t at, size_t size)
{
    uint64_t end = at + size < at ? UINT64_MAX : at + size, page = at, page_size = page_bytes();
    while (page < end && page_is_readable(page))
        page = (page & ~(page_size - 1)) + page_size;
    return (size_t)((page < end ? page : end) - at);
}

size_t program_text_length(uint64_t at, size_t width, size_t size)
{
    size_t length = 0;
    uint64_t page_size = page_bytes();
    while (length * width < size) {
        uint64_t from = at + length * width, page_end = (from & ~(page_size - 1)) + page_size;
        size_t part = page_end - from < width ? width : (size_t)(page_end - from); /* one may lie across pages */
        part = part < size - length * width ? part : size - length * width;
        size_t readable = program_readable(from, part);
        size_t found = (size_t)payload_text_length((const uint8_t *)(uintptr_t)from, readable, width);
        length += found;
        if (found < part / width || found == 0)
            break;
    }
    return length;
}
