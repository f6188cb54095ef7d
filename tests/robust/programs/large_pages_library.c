/*
 * Preloaded into a program: the machine seems to have pages of 64 KiB, as some with ARM processors have. Offsets and
 * addresses that are not multiples of that are refused, and mappings begin at multiples of it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE ((size_t)65536)
#define EXPORT __attribute__((visibility("default")))

static int refuse(const void *address, size_t offset)
{
    if ((uintptr_t)address % PAGE == 0 && offset % PAGE == 0)
        return 0;
    errno = EINVAL;
    return -1;
}

static void *map(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
        return refuse(address, (size_t)offset) ? MAP_FAILED : map(address, bytes, protection, flags, fd, offset);
    if (refuse(NULL, (size_t)offset))
        return MAP_FAILED;
    size_t space = whole_pages(bytes);
    char *reserved = map(NULL, space + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
        return MAP_FAILED;
    char *at = (char *)whole_pages((uintptr_t)reserved);
    if (at > reserved)
        syscall(SYS_munmap, reserved, at - reserved);
    if (at < reserved + PAGE)
        syscall(SYS_munmap, at + space, reserved + PAGE - at);
    void *result = map(at, bytes, protection, flags | MAP_FIXED, fd, offset);
    if (result == MAP_FAILED)
        syscall(SYS_munmap, at, space);
    return result;
}

EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return mmap(address, bytes, protection, flags, fd, offset);
}

EXPORT int munmap(void *address, size_t bytes)
{
    return refuse(address, 0) ? -1 : (int)syscall(SYS_munmap, address, whole_pages(bytes));
}

EXPORT void *mremap(void *address, size_t old_bytes, size_t bytes, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *target = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
    va_end(more);
    if (refuse(address, (uintptr_t)target))
        return MAP_FAILED;
    return (void *)syscall(SYS_mremap, address, old_bytes, bytes, flags, target);
}

EXPORT int madvise(void *address, size_t bytes, int advice)
{
    return refuse(address, 0) ? -1 : (int)syscall(SYS_madvise, address, bytes, advice);
}

EXPORT int mprotect(void *address, size_t bytes, int protection)
{
    return refuse(address, 0) ? -1 : (int)syscall(SYS_mprotect, address, bytes, protection);
}

EXPORT int msync(void *address, size_t bytes, int flags)
{
    return refuse(address, 0) ? -1 : (int)syscall(SYS_msync, address, bytes, flags);
}

EXPORT long sysconf(int name)
{
    static long (*next)(int name);
    if (name == _SC_PAGESIZE)
        return (long)PAGE;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "sysconf");
    return next(name);
}

EXPORT int getpagesize(void)
{
    return (int)PAGE;
}

EXPORT unsigned long getauxval(unsigned long type)
{
    static unsigned long (*next)(unsigned long type);
    if (type == AT_PAGESZ)
        return PAGE;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "getauxval");
    return next(type);
}
