/* What of the program's memory can be read. */
#include "tests/unit.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "agent/nvtx/nvtx.h"
#include "common/memory.h"

/* Two pages, of which the second cannot be read. */
static char *two_pages(void)
{
    char *pages = mmap(NULL, 2 * page_bytes(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page_bytes(), page_bytes(), PROT_NONE) != 0)
        abort();
    return pages;
}

UNIT_TEST(test_what_can_be_read_ends_with_its_page)
{
    uint64_t at = (uint64_t)(uintptr_t)two_pages(), page = page_bytes();
    errno = EXDEV;
    assert_int_equal(program_readable(at, page), page);
    assert_int_equal(program_readable(at + 1, page), page - 1);
    assert_int_equal(program_readable(at + page - 1, 8), 1);
    assert_int_equal(program_readable(at + page, 8), 0);
    assert_int_equal(program_readable(0, 8), 0);
    assert_int_equal(program_readable(UINT64_MAX - 7, 8), 0);
    assert_int_equal(errno, EXDEV);
}

static void enter_sandbox(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(99);
}

UNIT_TEST(test_no_call_is_made_for_which_a_sandbox_might_kill)
{
    uint64_t at = (uint64_t)(uintptr_t)two_pages(), page = page_bytes();
    int status;
    pid_t child = fork();
    if (child == 0) {
        enter_sandbox();
        _exit(program_readable(at, page + 1) == page && program_readable(at + page, 1) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

UNIT_MAIN(NULL, NULL)
