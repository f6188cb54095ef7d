/*
 * `gputrace doctor`: its options and its checks, one function each, in the order in which they are printed. Each check
 * writes a line with its result, and a second line with a remedy if something is missing.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/diagnosis.h"
#include "cli/options.h"
#include "common/buffer.h"
#include "common/cupti.h"
#include "common/log.h"
#include "common/machine.h"
#include "common/text.h"
#include "launch/program.h"
#include "launch/run_directory.h"
#include "symbols/elf_file.h"

struct doctor_options {
    const char *cupti;        /* a libcupti to try before others, or NULL */
    const char *spool_parent; /* --spool-dir, as of `gputrace run`; NULL: $TMPDIR or /tmp */
};

enum verdict {
    VERDICT_OK,
    VERDICT_NOTE,    /* tracing works, but the user should know something */
    VERDICT_PROBLEM, /* tracing does not work or is incomplete */
};

struct doctor {
    const struct doctor_options *options;
    struct driver_answer driver;
    struct library_answer library;
    char library_path[PATH_MAX]; /* "" if libgputrace.so was not found */
    struct buffer *out;
    const char *title; /* title of the current check */
    int problems;
};

/* Writes the result of the current check. */
__attribute__((format(printf, 3, 4))) static void report(struct doctor *doctor, enum verdict verdict,
                                                         const char *format, ...)
{
    static const char *const verdicts[] = {"ok", "note", "problem"};
    va_list args;
    buffer_format(doctor->out, "%-8s %-15s ", verdicts[verdict], doctor->title);
    va_start(args, format);
    buffer_vformat(doctor->out, format, args);
    va_end(args);
    buffer_char(doctor->out, '\n');
    doctor->problems += verdict == VERDICT_PROBLEM;
}

/* Writes how to fix the problem that report() described. */
__attribute__((format(printf, 2, 3))) static void report_fix(struct doctor *doctor, const char *format, ...)
{
    va_list args;
    buffer_format(doctor->out, "%-8s %-15s to fix: ", "", "");
    va_start(args, format);
    buffer_vformat(doctor->out, format, args);
    va_end(args);
    buffer_char(doctor->out, '\n');
}

/* --- NVIDIA: GPU, driver, toolkit, CUPTI --- */

#define DRIVER_PAGE "https://www.nvidia.com/drivers"
#define TOOLKIT_PAGE "https://developer.nvidia.com/cuda-downloads"

static void check_gpu(struct doctor *doctor)
{
    const struct driver_answer *driver = &doctor->driver;
    if (driver->devices > 0) {
        report(doctor, VERDICT_OK, "%d device%s; the first is '%s'", driver->devices, driver->devices == 1 ? "" : "s",
               driver->device);
    } else if (access("/dev/nvidia0", F_OK) == 0 || access("/dev/dxg", F_OK) == 0) {
        report(doctor, VERDICT_PROBLEM, "there is a device file, but the driver finds no GPU");
        report_fix(doctor, "see the driver below; CUDA_VISIBLE_DEVICES, which is '%s', may hide the GPU",
                   getenv("CUDA_VISIBLE_DEVICES") ? getenv("CUDA_VISIBLE_DEVICES") : "not set");
    } else {
        report(doctor, VERDICT_PROBLEM, "none: no /dev/nvidia0 and no /dev/dxg");
        report_fix(doctor, "give the GPU to the container (docker run --gpus all); programs that use NVTX without "
                           "CUDA can be traced without a GPU");
    }
}

static void check_driver(struct doctor *doctor)
{
    const struct driver_answer *driver = &doctor->driver;
    char module[64] = ""; /* the version of the kernel's module, "580.159" */
    FILE *file = fopen("/sys/module/nvidia/version", "r");
    if (file && fgets(module, sizeof(module), file))
        module[strcspn(module, "\n")] = '\0';
    if (file)
        fclose(file);
    if (driver->end == PROBE_CRASHED || driver->end == PROBE_TOO_SLOW) {
        report(doctor, VERDICT_PROBLEM, "libcuda.so.1 %s when it was initialised",
               driver->end == PROBE_CRASHED ? "crashed" : "hung");
        report_fix(doctor, "check dmesg for messages of the driver, and that 'nvidia-smi' works");
    } else if (!driver->loaded) {
        report(doctor, VERDICT_PROBLEM, "%s", driver->words);
        report_fix(doctor, "install the driver: " DRIVER_PAGE);
    } else if (driver->result != 0) {
        report(doctor, VERDICT_PROBLEM, "cuInit returned %d: %s", driver->result, driver->words);
        report_fix(doctor, "if 'nvidia-smi' fails too, repair the driver first (after its update the machine must be "
                           "restarted)");
    } else {
        report(doctor, VERDICT_OK, "CUDA %d.%d%s%s", driver->version / 1000, driver->version % 1000 / 10,
               *module ? ", kernel module " : "", module);
    }
}

/* Returns CUDA_VERSION of the toolkit in HOME, or 0 if it has no cuda.h. */
static int read_toolkit_version(const char *home)
{
    char line[256], path[PATH_MAX];
    int version = 0;
    snprintf(path, sizeof(path), "%s/include/cuda.h", home);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    while (version == 0 && fgets(line, sizeof(line), file))
        if (sscanf(line, "#define CUDA_VERSION %d", &version) != 1)
            version = 0;
    fclose(file);
    return version;
}

static void check_toolkit(struct doctor *doctor)
{
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++) {
        int version = homes[i] && *homes[i] ? read_toolkit_version(homes[i]) : 0;
        if (version == 0)
            continue;
        report(doctor, VERDICT_OK, "%d.%d in '%s'", version / 1000, version % 1000 / 10, homes[i]);
        return;
    }
    report(doctor, VERDICT_NOTE, "no headers found; only building gputrace needs them");
}

static int try_cupti(void *context, const char *path)
{
    struct cupti_answer *answer = context;
    struct cupti_answer last;
    ask_cupti(path, &last);
    if (last.loaded && last.version < CUPTI_OLDEST)
        snprintf(last.words, sizeof(last.words), "'%s' is CUPTI %u; the oldest that works is 18, of CUDA 11.8", path,
                 last.version);
    bool usable = last.loaded && last.version >= CUPTI_OLDEST;
    /* Keep the failure of a library that exists: it explains more than that of a soname that was not found. */
    if (usable || !*answer->words || last.end != PROBE_ANSWERED || last.loaded)
        *answer = last;
    return usable;
}

static void check_cupti(struct doctor *doctor)
{
    struct cupti_answer answer = {0};
    char version[64];
    bool usable = cupti_path_each(doctor->options->cupti, try_cupti, &answer) != 0;
    int length = snprintf(version, sizeof(version), "version %u", answer.version);
    if (answer.version >= 10000)
        snprintf(version + length, sizeof(version) - (size_t)length, ", of CUDA %u.%u", answer.version / 10000,
                 answer.version / 100 % 100);
    if (answer.end != PROBE_ANSWERED) {
        report(doctor, VERDICT_PROBLEM, "'%s' %s when it was loaded", answer.path,
               answer.end == PROBE_TOO_SLOW ? "hung" : "crashed");
        report_fix(doctor, "try another version with --cupti=FILE");
    } else if (!usable) {
        report(doctor, VERDICT_PROBLEM, "%s", answer.words);
        report_fix(doctor, "install the CUDA toolkit (" TOOLKIT_PAGE ") or the package nvidia-cuda-cupti; if it is "
                           "installed, set CUDA_HOME or LD_LIBRARY_PATH, or give --cupti=FILE");
    } else if (answer.result == 0) {
        report(doctor, VERDICT_OK, "'%s', %s, can be subscribed to", answer.path, version);
    } else if (doctor->driver.devices == 0) {
        report(doctor, VERDICT_NOTE, "'%s', %s; it cannot be tried without a GPU (%s)", answer.path, version,
               answer.words);
    } else {
        report(doctor, VERDICT_PROBLEM, "'%s', %s: subscribing failed with %d: %s", answer.path, version, answer.result,
               answer.words);
        report_fix(doctor, "stop other profilers and debuggers: only one tool at a time can subscribe");
    }
}

/* --- gputrace and the machine --- */

#define TMPFS 0x01021994 /* TMPFS_MAGIC of linux/magic.h */
#define MB UINT64_C(1000000)
#define DISK_LEAST (64 * MB)    /* less space does not hold the first chunks of a few processes */
#define DISK_LITTLE (2000 * MB) /* space for about ten million kernel launches */

static void check_library(struct doctor *doctor)
{
    const struct library_answer *answer = &doctor->library;
    bool answered = answer->end == PROBE_ANSWERED;
    if (!*doctor->library_path) {
        report(doctor, VERDICT_PROBLEM,
               "'" LIBRARY_FILE "' is neither beside gputrace nor in '" GPUTRACE_LIBDIR "' from there");
        report_fix(doctor, "run 'make' or 'make install'");
    } else if (answered && answer->loaded && answer->cuda) {
        report(doctor, VERDICT_OK, "'%s'", doctor->library_path);
    } else {
        const char *words = *answer->words ? answer->words : "it has no InitializeInjection";
        report(doctor, VERDICT_PROBLEM, "'%s' cannot be loaded: %s", doctor->library_path,
               answered ? words : "it crashed");
        report_fix(doctor, "build and install gputrace again");
    }
}

static void check_nvtx(struct doctor *doctor)
{
    if (doctor->library.nvtx) {
        report(doctor, VERDICT_OK, "libgputrace.so records NVTX calls itself, without a GPU");
    } else {
        report(doctor, VERDICT_PROBLEM, "libgputrace.so has no InitializeInjectionNvtx2");
        report_fix(doctor, "build and install gputrace again");
    }
}

static void check_environment(struct doctor *doctor)
{
    static const char *const variables[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "GPUTRACE_SPOOL"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        const char *value = getenv(variables[i]);
        if (!value || !*value)
            continue;
        report(doctor, VERDICT_NOTE, "%s is '%s', which another tool set; 'gputrace run' replaces it", variables[i],
               value);
        return;
    }
    report(doctor, VERDICT_OK, "no other tool asks to be loaded into CUDA programs");
}

/* Returns RmProfilingAdminOnly of the driver's parameters, or -1 if it is not among them. */
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

static void check_permissions(struct doctor *doctor)
{
    static const char *const devices[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0"};
    for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
        if (access(devices[i], F_OK) != 0 || access(devices[i], R_OK | W_OK) == 0)
            continue;
        report(doctor, VERDICT_PROBLEM, "'%s': %s", devices[i], strerror(errno));
        report_fix(doctor, "join the group that owns it ('ls -l %s')", devices[i]);
        return;
    }
    if (read_admin_only() == 1)
        report(doctor, VERDICT_OK,
               "no special rights are needed (RmProfilingAdminOnly restricts performance counters, which are not "
               "used)");
    else
        report(doctor, VERDICT_OK, "no special rights are needed");
}

static void check_disk(struct doctor *doctor)
{
    const char *parent = run_directory_parent(doctor->options->spool_parent);
    struct statvfs space;
    struct statfs system;
    if (statvfs(parent, &space) != 0 || access(parent, W_OK | X_OK) != 0) {
        report(doctor, VERDICT_PROBLEM, "cannot write to '%s': %s", parent, strerror(errno));
        report_fix(doctor, "choose another directory with TMPDIR or --spool-dir");
        return;
    }
    uint64_t bytes = (uint64_t)space.f_bavail * space.f_frsize;
    const char *kind = statfs(parent, &system) == 0 && system.f_type == TMPFS ? " of memory (tmpfs)" : "";
    enum verdict verdict = bytes < DISK_LEAST ? VERDICT_PROBLEM : bytes < DISK_LITTLE ? VERDICT_NOTE : VERDICT_OK;
    report(doctor, verdict, "%" PRIu64 " MB%s free in '%s'; a kernel launch takes about 250 bytes", bytes / MB, kind,
           parent);
    if (verdict != VERDICT_OK)
        report_fix(doctor, "for long runs choose another directory with TMPDIR or --spool-dir");
}

static void check_leftovers(struct doctor *doctor)
{
    const char *parent = run_directory_parent(doctor->options->spool_parent);
    struct leftovers leftovers = run_directory_leftovers(parent, NULL, NULL);
    if (leftovers.count == 0) {
        report(doctor, VERDICT_OK, "no records of earlier runs in '%s'", parent);
        return;
    }
    report(doctor, VERDICT_NOTE, "%u director%s of earlier runs in '%s' with %" PRIu64 " MB", leftovers.count,
           leftovers.count == 1 ? "y" : "ies", parent, leftovers.bytes / MB);
    if (leftovers.count == 1)
        report_fix(doctor, "'gputrace recover %s' writes its trace; rm -r %s discards it", shell_word(leftovers.first),
                   shell_word(leftovers.first));
    else
        report_fix(doctor, "'gputrace recover' lists them");
}

static void check_processor(struct doctor *doctor)
{
    if (MACHINE != EM_AARCH64)
        return;
    report(doctor, VERDICT_NOTE, "on aarch64 gputrace has run in an emulator alone, with a simulated GPU");
    report_fix(doctor, "gputrace-limits(7) lists what no hardware has confirmed; CUPTI may refuse unified memory");
}

/* --- all checks --- */

static const struct {
    const char *title;
    void (*check)(struct doctor *doctor);
} checks[] = {
    {"processor", check_processor},
    {"GPU", check_gpu},
    {"driver", check_driver},
    {"CUDA toolkit", check_toolkit},
    {"CUPTI", check_cupti},
    {"libgputrace.so", check_library},
    {"NVTX", check_nvtx},
    {"environment", check_environment},
    {"permissions", check_permissions},
    {"disk", check_disk},
    {"leftovers", check_leftovers},
};

/* Runs all checks and writes their results to OUT. Returns the number of problems. */
static int examine(const struct doctor_options *options, struct buffer *out)
{
    struct doctor doctor = {.options = options, .out = out};
    ask_driver(&doctor.driver);
    if (library_find(doctor.library_path, sizeof(doctor.library_path)) == 0)
        ask_library(doctor.library_path, &doctor.library);
    else
        *doctor.library_path = '\0';
    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
        doctor.title = checks[i].title;
        checks[i].check(&doctor);
    }
    if (doctor.problems == 0)
        buffer_text(out, "\nA CUDA program can be traced here.\n");
    else
        buffer_format(out, "\n%d problem%s: a CUDA program cannot be traced here, or not completely.\n",
                      doctor.problems, doctor.problems == 1 ? "" : "s");
    return doctor.problems;
}

/* --- the command --- */

/* Stores --cupti. Unlike `gputrace run`, which only warns, refuses a file that is not a library. */
static int take_cupti(void *settings, const char *value)
{
    struct doctor_options *options = settings;
    if (options_cupti(&options->cupti, value) != 0)
        return -1;
    return elf_facts_read(options->cupti).is_elf
               ? 0
               : error("--cupti: '%s' is not a shared library: name the file libcupti.so itself", value);
}

static const struct option_row rows[] = {
    {.word = "cupti",
     .argument = "FILE",
     .type = OPTION_CALL,
     .take = take_cupti,
     .help = "check this libcupti instead of searching for one"},
    {.word = "spool-dir",
     .argument = "DIR",
     .type = OPTION_TEXT,
     .offset = offsetof(struct doctor_options, spool_parent),
     .help = "check DIR instead of $TMPDIR or /tmp"},
    {.word = NULL},
};

static int doctor_command(int argc, char **argv)
{
    struct doctor_options options = {.cupti = getenv("GPUTRACE_CUPTI")};
    int first = options_parse(&command_doctor, &options, argc, argv, false);
    if (first < 0)
        return first == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    if (first < argc)
        return error_usage("'doctor' takes no arguments: '%s' is one", argv[first]);
    struct buffer out;
    buffer_init(&out, buffer_drain_fd, BUFFER_FD(STDOUT_FILENO));
    int problems = examine(&options, &out);
    int failure = buffer_finish(&out);
    buffer_release(&out);
    if (failure)
        return error_usage("cannot write to standard output: %s", strerror(failure));
    return problems ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct command command_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "Checks what tracing needs, and explains how to fix what is missing",
    .examples = "  gputrace doctor\n"
                "  gputrace doctor --spool-dir=/scratch\n"
                "  gputrace doctor --cupti=/usr/local/cuda/lib64/libcupti.so\n",
    .options = rows,
    .run = doctor_command,
};
