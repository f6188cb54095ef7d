/* A sandbox around NVTX and CUDA, or around a program: `seccomp HOW [PROGRAM [ARG...]]`.
 *
 *     refuse  calls that a sandbox may not know of fail with EPERM, from before NVTX and CUDA begin
 *     later   the same after they have begun
 *     kill    what no driver of CUDA needs, and a tracer might be tempted to use, ends the program
 *     lean    the same of what the simulated driver does not need either
 *     old     what Linux has only since 5.9 is not there
 *     shared  no thread gets a descriptor table of its own
 *     mask    rt_sigprocmask() ends the program; so it makes no thread, and uses NVTX alone
 *     mask-trap, mask-thread   the same by SIGSYS, and of the thread alone
 *     mask-later               the same as mask, after NVTX has begun; a few more ranges follow
 *     mask-child               the same as mask, in a forked child of a process that has begun
 *     thread                   a call that only the program makes ends its only thread, by SIGSYS; it uses NVTX alone
 */
#include "gpu.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The calls that the C library's symlink(), unlink(), link() and rename() make: newer processors have no others. */
#ifdef SYS_symlink
enum { SYS_SYMLINK = SYS_symlink, SYS_UNLINK = SYS_unlink, SYS_LINK = SYS_link, SYS_RENAME = SYS_rename };
#else
enum { SYS_SYMLINK = SYS_symlinkat, SYS_UNLINK = SYS_unlinkat, SYS_LINK = SYS_linkat, SYS_RENAME = SYS_renameat };
#endif

/* What a sandbox may not know of, and we ask for. */
static const unsigned doubtful[] = {
    SYS_membarrier, SYS_memfd_create, SYS_fallocate, SYS_prctl,
    SYS_madvise,    SYS_flock,        SYS_msync,     SYS_statfs,
    SYS_fstatfs,    SYS_SYMLINK,      SYS_UNLINK,    SYS_close_range,
    SYS_unshare,    SYS_getrandom,    SYS_prlimit64, SYS_sched_setaffinity,
    SYS_getrlimit,  SYS_ftruncate,    SYS_mremap,    SYS_clock_nanosleep,
};
static const unsigned needless[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_bpf,
    SYS_userfaultfd,
    SYS_perf_event_open,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_reboot,
    SYS_swapon,
    SYS_fanotify_init,
    SYS_delete_module,
    SYS_pidfd_getfd,
    SYS_clock_settime,
    SYS_acct,
    SYS_settimeofday,
    SYS_open_by_handle_at,
    SYS_keyctl,
    SYS_add_key,
    SYS_quotactl,
    SYS_syslog,
    SYS_process_madvise,
};
static const unsigned spared[] = {
    SYS_memfd_create,  SYS_flock,  SYS_SYMLINK, SYS_LINK,  SYS_RENAME,   SYS_truncate, SYS_close_range,     SYS_unshare,
    SYS_inotify_init1, SYS_syncfs, SYS_fsync,   SYS_mlock, SYS_mlockall, SYS_sendfile, SYS_copy_file_range,
};
static const unsigned recent[] = {SYS_close_range, SYS_pidfd_open, SYS_process_madvise, SYS_faccessat2, SYS_openat2};
static const unsigned own_table[] = {SYS_close_range, SYS_unshare};
static const unsigned mask[] = {SYS_rt_sigprocmask};
static const unsigned programs_own[] = {SYS_getsid};

#define CALLS_MAX 40
#define CALLS(list) list, sizeof(list) / sizeof((list)[0])

static const struct sandbox {
    const char *name;
    unsigned action;
    const unsigned *calls;
    size_t count;
} sandboxes[] = {
    {"refuse", SECCOMP_RET_ERRNO | EPERM, CALLS(doubtful)},
    {"kill", SECCOMP_RET_KILL_PROCESS, CALLS(needless)},
    {"lean", SECCOMP_RET_KILL_PROCESS, CALLS(spared)},
    {"old", SECCOMP_RET_ERRNO | ENOSYS, CALLS(recent)},
    {"shared", SECCOMP_RET_ERRNO | EPERM, CALLS(own_table)},
    {"mask", SECCOMP_RET_KILL_PROCESS, CALLS(mask)},
    {"mask-trap", SECCOMP_RET_TRAP, CALLS(mask)},
    {"mask-thread", SECCOMP_RET_KILL_THREAD, CALLS(mask)},
    {"mask-child", SECCOMP_RET_KILL_PROCESS, CALLS(mask)},
    {"mask-later", SECCOMP_RET_KILL_PROCESS, CALLS(mask)},
    {"thread", SECCOMP_RET_KILL_THREAD, CALLS(programs_own)},
};

static const struct sandbox *sandbox_of(const char *how)
{
    for (size_t i = 0; i < sizeof(sandboxes) / sizeof(sandboxes[0]); i++)
        if (strcmp(sandboxes[i].name, strcmp(how, "later") == 0 ? "refuse" : how) == 0)
            return &sandboxes[i];
    exit(8);
}

static void enter(const struct sandbox *sandbox)
{
    struct sock_filter filter[2 * CALLS_MAX + 2];
    unsigned short length = 0;
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sandbox->count && i < CALLS_MAX; i++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, sandbox->calls[i], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, sandbox->action);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = length, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        exit(7);
}

static int in_child(const struct sandbox *sandbox)
{
    int status = 0;
    nvtx_work(100, 20);
    pid_t child = fork();
    if (child == 0) {
        enter(sandbox);
        nvtx_work(30000, 100);
        _exit(0);
    }
    return waitpid(child, &status, 0) != child || status != 0;
}

/* An exit handler that runs after the library's, for longer than a round of its threads. */
static void linger(void)
{
    usleep(300000);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    const struct sandbox *sandbox = sandbox_of(how);
    int later = strcmp(how, "later") == 0 || strcmp(how, "mask-later") == 0;
    if (strcmp(how, "mask-child") == 0)
        return in_child(sandbox);
    if (!later)
        enter(sandbox);
    if (argc > 2) {
        execv(argv[2], argv + 2);
        return 6;
    }
    if (later)
        atexit(linger);
    nvtx_work(100, 20);
    if (sandbox->calls == programs_own)
        return getsid(0) < 0;
    if (sandbox->calls == mask) {
        if (later) {
            usleep(200000); /* threads that are being made call it, the library's too */
            enter(sandbox);
        }
        nvtx_work(later ? 10 : 30000, 20);
        return puts("done") < 0;
    }
    gpu_start();
    if (later)
        enter(sandbox);
    printf("%08x\n", gpu_work(50));
    nvtx_work(30000, 100);
    return 0;
}
