/* Calls that a sandbox may not know of fail with EPERM (`refuse`), from before NVTX and CUDA begin or, as `later`,
 * after that; or, as `kill`, end the program: those that nobody needs for CUDA. */
#include "gpu.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const unsigned doubtful[] = {
    SYS_membarrier, SYS_memfd_create,      SYS_fallocate, SYS_prctl,     SYS_madvise,     SYS_flock,
    SYS_statfs,     SYS_fstatfs,           SYS_symlink,   SYS_unlink,    SYS_close_range, SYS_getrandom,
    SYS_prlimit64,  SYS_sched_setaffinity, SYS_getrlimit, SYS_ftruncate, SYS_mremap,      SYS_clock_nanosleep,
};
static const unsigned deadly[] = {
    SYS_memfd_create, SYS_flock,           SYS_symlink, SYS_ptrace, SYS_process_vm_readv, SYS_close_range, SYS_bpf,
    SYS_userfaultfd,  SYS_perf_event_open, SYS_unshare, SYS_setns,
};

static void limit(const unsigned *calls, size_t count, unsigned action)
{
    struct sock_filter filter[64];
    unsigned short length = 0;
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = length, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        exit(7);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "kill") == 0)
        limit(deadly, sizeof(deadly) / sizeof(deadly[0]), SECCOMP_RET_KILL_PROCESS);
    if (strcmp(how, "refuse") == 0)
        limit(doubtful, sizeof(doubtful) / sizeof(doubtful[0]), SECCOMP_RET_ERRNO | EPERM);
    nvtx_work(100, 20);
    gpu_start();
    if (strcmp(how, "later") == 0)
        limit(doubtful, sizeof(doubtful) / sizeof(doubtful[0]), SECCOMP_RET_ERRNO | EPERM);
    printf("%08x\n", gpu_work(50));
    nvtx_work(30000, 100);
    return 0;
}
