/*
 * The checks of what is ours and of the machine: library, NVTX, environment, permissions, disk, leftovers.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "doctor/check.h"
#include "doctor/doctor.h"
#include "launch/library.h"
#include "launch/run_directory.h"

#define TMPFS 0x01021994 /* TMPFS_MAGIC of linux/magic.h */
#define MB UINT64_C(1000000)
#define DISK_LEAST (64 * MB)    /* less does not hold even the first chunks of a few processes */
#define DISK_LITTLE (2000 * MB) /* some ten million kernel launches */

void check_library(const struct check_context *context, struct finding *finding)
{
    (void)context;
    char path[PATH_MAX];
    struct library_answer answer = {0};
    if (library_find(path, sizeof(path)) < 0) {
        finding_set(finding, VERDICT_PROBLEM,
                    "'" LIBRARY_FILE "' is neither beside gputrace nor in '" GPUTRACE_LIBDIR "' from there");
        finding_set_fix(finding, "'make' builds it, 'make install' puts it where gputrace looks");
        return;
    }
    ask_library(path, &answer);
    if (answer.end == PROBE_ANSWERED && answer.loaded && answer.cuda) {
        finding_set(finding, VERDICT_OK, "'%s'", path);
        return;
    }
    finding_set(finding, VERDICT_PROBLEM, "'%s' cannot be loaded: %s", path,
                answer.end == PROBE_ANSWERED ? *answer.words ? answer.words : "it has no InitializeInjection"
                                             : "it crashed");
    finding_set_fix(finding, "build and install it anew");
}

void check_nvtx(const struct check_context *context, struct finding *finding)
{
    (void)context;
    char path[PATH_MAX];
    struct library_answer answer = {0};
    if (library_find(path, sizeof(path)) == 0)
        ask_library(path, &answer);
    if (answer.nvtx)
        finding_set(finding, VERDICT_OK, "libgputrace.so takes NVTX calls itself; no GPU is needed for them");
    else
        finding_set(finding, VERDICT_PROBLEM, "libgputrace.so has no InitializeInjectionNvtx2");
    if (!answer.nvtx)
        finding_set_fix(finding, "as for libgputrace.so");
}

void check_environment(const struct check_context *context, struct finding *finding)
{
    static const char *const variables[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "GPUTRACE_SPOOL"};
    (void)context;
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        const char *value = getenv(variables[i]);
        if (!value || !*value)
            continue;
        finding_set(finding, VERDICT_NOTE, "%s is '%s': another tool's setting, replaced by 'gputrace run'",
                    variables[i], value);
        return;
    }
    finding_set(finding, VERDICT_OK, "no other tool is set to be loaded into CUDA programs");
}

/* RmProfilingAdminOnly of the driver's parameters; -1 when it is not among them. */
static int read_admin_only(void)
{
    char line[256];
    int value = -1;
    FILE *file = fopen("/proc/driver/nvidia/params", "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof(line), file))
        if (sscanf(line, "RmProfilingAdminOnly: %d", &value) == 1)
            break;
    fclose(file);
    return value;
}

void check_permissions(const struct check_context *context, struct finding *finding)
{
    static const char *const devices[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0"};
    (void)context;
    for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
        if (access(devices[i], F_OK) != 0 || access(devices[i], R_OK | W_OK) == 0)
            continue;
        finding_set(finding, VERDICT_PROBLEM, "'%s': %s", devices[i], strerror(errno));
        finding_set_fix(finding, "become a member of the group that owns it ('ls -l %s')", devices[i]);
        return;
    }
    if (read_admin_only() == 1)
        finding_set(finding, VERDICT_OK,
                    "nothing special is needed (that performance counters are root's alone, "
                    "RmProfilingAdminOnly, does not matter here)");
    else
        finding_set(finding, VERDICT_OK, "nothing special is needed");
}

void check_disk(const struct check_context *context, struct finding *finding)
{
    const char *parent = run_directory_parent(context->options->spool_parent);
    struct statvfs room;
    struct statfs system;
    if (statvfs(parent, &room) != 0 || access(parent, W_OK | X_OK) != 0) {
        finding_set(finding, VERDICT_PROBLEM, "no spool can be written in '%s': %s", parent, strerror(errno));
        finding_set_fix(finding, "TMPDIR or --spool-dir chooses another place");
        return;
    }
    uint64_t bytes = (uint64_t)room.f_bavail * room.f_frsize;
    const char *kind = statfs(parent, &system) == 0 && system.f_type == TMPFS ? " of memory (tmpfs)" : "";
    enum verdict verdict = bytes < DISK_LEAST ? VERDICT_PROBLEM : bytes < DISK_LITTLE ? VERDICT_NOTE : VERDICT_OK;
    finding_set(finding, verdict, "%" PRIu64 " MB%s free in '%s'; a kernel launch takes some 250 bytes", bytes / MB,
                kind, parent);
    if (verdict != VERDICT_OK)
        finding_set_fix(finding, "for long runs choose another place with TMPDIR or --spool-dir");
}

struct leftovers {
    unsigned count;
    uint64_t bytes;
    char first[PATH_MAX];
};

static void count_leftover(void *context, const char *path, uint64_t bytes)
{
    struct leftovers *leftovers = context;
    if (leftovers->count++ == 0)
        snprintf(leftovers->first, sizeof(leftovers->first), "%s", path);
    leftovers->bytes += bytes;
}

void check_leftovers(const struct check_context *context, struct finding *finding)
{
    struct leftovers leftovers = {0};
    const char *parent = run_directory_parent(context->options->spool_parent);
    run_directory_leftovers(parent, count_leftover, &leftovers);
    if (leftovers.count == 0) {
        finding_set(finding, VERDICT_OK, "no spool of an earlier run in '%s'", parent);
        return;
    }
    finding_set(finding, VERDICT_NOTE, "%u director%s of earlier runs in '%s' with %" PRIu64 " MB", leftovers.count,
                leftovers.count == 1 ? "y" : "ies", parent, leftovers.bytes / MB);
    if (leftovers.count == 1)
        finding_set_fix(finding, "'gputrace recover %s' makes the trace of it; or rm -r '%s'", leftovers.first,
                        leftovers.first);
    else
        finding_set_fix(finding, "'gputrace recover' lists them, and makes their traces one by one");
}
