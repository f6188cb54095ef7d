/*
 * Stand-ins for functions that glibc 2.28 lacks, for packages that must run with 2.28 (packaging.mk). Calls of the
 * function NAME are linked with glibc_NAME().
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The number of struct stat's layout that callers pass to the functions that glibc had before 2.33. */
#if defined(__aarch64__)
#define STAT_VERSION 0
#else
#define STAT_VERSION 1
#endif

int __fxstat(int version, int fd, struct stat *file);
int __fxstatat(int version, int folder, const char *path, struct stat *file, int flags);

int glibc_stat(const char *path, struct stat *file);
int glibc_lstat(const char *path, struct stat *file);
int glibc_fstat(int fd, struct stat *file);
int glibc_fstatat(int folder, const char *path, struct stat *file, int flags);
pid_t glibc_gettid(void);
int glibc_tgkill(pid_t process, pid_t thread, int number);
void glibc_closefrom(int lowest);

int glibc_stat(const char *path, struct stat *file)
{
    return __fxstatat(STAT_VERSION, AT_FDCWD, path, file, 0);
}

int glibc_lstat(const char *path, struct stat *file)
{
    return __fxstatat(STAT_VERSION, AT_FDCWD, path, file, AT_SYMLINK_NOFOLLOW);
}

int glibc_fstat(int fd, struct stat *file)
{
    return __fxstat(STAT_VERSION, fd, file);
}

int glibc_fstatat(int folder, const char *path, struct stat *file, int flags)
{
    return __fxstatat(STAT_VERSION, folder, path, file, flags);
}

/* Objects built with -D_FILE_OFFSET_BITS=64 call these functions by names that end in 64. */
#define SAME(name) extern __typeof__(name) name##64 __attribute__((alias(#name)))
SAME(glibc_stat);
SAME(glibc_lstat);
SAME(glibc_fstat);
SAME(glibc_fstatat);

pid_t glibc_gettid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

int glibc_tgkill(pid_t process, pid_t thread, int number)
{
    return (int)syscall(SYS_tgkill, process, thread, number);
}

/* Kernels before 5.9 lack close_range(). */
void glibc_closefrom(int lowest)
{
    if (syscall(SYS_close_range, (unsigned)lowest, ~0u, 0) == 0)
        return;
    for (int fd = lowest, end = (int)sysconf(_SC_OPEN_MAX); fd < end; fd++)
        close(fd);
}

/* Before 2.34 a program brings the function that calls its constructors. The start-up code of a newer glibc has none. */
#if defined(__aarch64__)
__asm__(".symver old_start_main, __libc_start_main@GLIBC_2.17");
#else
__asm__(".symver old_start_main, __libc_start_main@GLIBC_2.2.5");
#endif
typedef int start_function(int argc, char **argv, char **environment);
int old_start_main(start_function *main, int argc, char **argv, start_function *init, void (*fini)(void),
                   void (*loader_fini)(void), void *stack_end);
int glibc___libc_start_main(start_function *main, int argc, char **argv, start_function *init, void (*fini)(void),
                            void (*loader_fini)(void), void *stack_end);

/* Set by the linker, in programs alone. */
extern start_function *const __init_array_start[] __attribute__((weak, visibility("hidden")));
extern start_function *const __init_array_end[] __attribute__((weak, visibility("hidden")));

static int call_constructors(int argc, char **argv, char **environment)
{
    for (start_function *const *constructor = __init_array_start; constructor < __init_array_end; constructor++)
        (*constructor)(argc, argv, environment);
    return 0;
}

int glibc___libc_start_main(start_function *main, int argc, char **argv, start_function *init, void (*fini)(void),
                            void (*loader_fini)(void), void *stack_end)
{
    return old_start_main(main, argc, argv, init ? init : call_constructors, fini, loader_fini, stack_end);
}
