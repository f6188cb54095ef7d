/*
 * The checks of what is NVIDIA's: GPU, driver, toolkit, CUPTI.
 */
#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/doctor.h"
#include "doctor/doctor.h"
#include "common/cupti_path.h"

#define DRIVER_PAGE "https://www.nvidia.com/drivers"
#define TOOLKIT_PAGE "https://developer.nvidia.com/cuda-downloads"

void check_gpu(const struct check_context *context, struct finding *finding)
{
    const struct driver_answer *driver = &context->driver;
    if (driver->devices > 0) {
        finding_set(finding, VERDICT_OK, "%d device%s; the first is '%s'", driver->devices,
                    driver->devices == 1 ? "" : "s", driver->device);
    } else if (access("/dev/nvidia0", F_OK) == 0 || access("/dev/dxg", F_OK) == 0) {
        finding_set(finding, VERDICT_PROBLEM, "there is a device file, but the driver shows no GPU");
        finding_set_fix(finding, "see the driver below; CUDA_VISIBLE_DEVICES may hide it (it is '%s')",
                        getenv("CUDA_VISIBLE_DEVICES") ? getenv("CUDA_VISIBLE_DEVICES") : "not set");
    } else {
        finding_set(finding, VERDICT_PROBLEM, "none: no /dev/nvidia0 and no /dev/dxg");
        finding_set_fix(finding, "a container needs to be given it (docker run --gpus all); programs that use NVTX "
                                 "without CUDA can be traced all the same");
    }
}

/* The kernel module's version, "580.159"; "" when there is none. */
static void read_module_version(char *text, size_t size)
{
    *text = '\0';
    FILE *file = fopen("/sys/module/nvidia/version", "r");
    if (!file)
        return;
    if (fgets(text, (int)size, file))
        text[strcspn(text, "\n")] = '\0';
    fclose(file);
}

void check_driver(const struct check_context *context, struct finding *finding)
{
    const struct driver_answer *driver = &context->driver;
    char module[64];
    read_module_version(module, sizeof(module));
    if (driver->end == PROBE_CRASHED || driver->end == PROBE_TOO_SLOW) {
        finding_set(finding, VERDICT_PROBLEM, "libcuda.so.1 %s when it was started",
                    driver->end == PROBE_CRASHED ? "crashed" : "hung");
        finding_set_fix(finding, "see dmesg for messages of the driver; 'nvidia-smi' should work");
    } else if (!driver->loaded) {
        finding_set(finding, VERDICT_PROBLEM, "%s", driver->words);
        finding_set_fix(finding, "install the driver: " DRIVER_PAGE);
    } else if (driver->result != 0) {
        finding_set(finding, VERDICT_PROBLEM, "cuInit gave %d: %s", driver->result, driver->words);
        finding_set_fix(finding,
                        "if 'nvidia-smi' fails too, the driver needs to be mended first: after its update, say, the "
                        "machine has to be started anew");
    } else {
        finding_set(finding, VERDICT_OK, "CUDA %d.%d%s%s", driver->version / 1000, driver->version % 1000 / 10,
                    *module ? ", kernel module " : "", module);
    }
}

/* CUDA_VERSION of the toolkit in HOME, 0 when it has no cuda.h. */
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

void check_toolkit(const struct check_context *context, struct finding *finding)
{
    (void)context;
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++) {
        int version = homes[i] && *homes[i] ? read_toolkit_version(homes[i]) : 0;
        if (version == 0)
            continue;
        finding_set(finding, VERDICT_OK, "%d.%d in '%s'", version / 1000, version % 1000 / 10, homes[i]);
        return;
    }
    finding_set(finding, VERDICT_NOTE, "none with headers; tracing does not need them, building does");
}

static int try_cupti(void *context, const char *path)
{
    struct cupti_answer *answer = context;
    struct cupti_answer last;
    ask_cupti(path, &last);
    if (last.loaded && last.version < CUPTI_OLDEST)
        snprintf(last.words, sizeof(last.words), "'%s' is CUPTI %u: 18 (of CUDA 11.8) is the oldest that works", path,
                 last.version);
    bool usable = last.loaded && last.version >= CUPTI_OLDEST;
    /* Of libraries that cannot be used, one that exists explains more than the last soname that does not. */
    if (usable || !*answer->words || last.end != PROBE_ANSWERED || last.loaded)
        *answer = last;
    return usable;
}

/* "version 130000, of CUDA 13.0", as far as the number says. */
static void describe_cupti(uint32_t version, char *text, size_t size)
{
    if (version >= 10000)
        snprintf(text, size, "version %u, of CUDA %u.%u", version, version / 10000, version / 100 % 100);
    else
        snprintf(text, size, "version %u", version);
}

void check_cupti(const struct check_context *context, struct finding *finding)
{
    struct cupti_answer answer = {0};
    char version[64];
    bool usable = cupti_path_each(context->options->cupti, try_cupti, &answer) != 0;
    describe_cupti(answer.version, version, sizeof(version));
    if (answer.end != PROBE_ANSWERED) {
        finding_set(finding, VERDICT_PROBLEM, "'%s' %s when it was asked", answer.path,
                    answer.end == PROBE_TOO_SLOW ? "hung" : "crashed");
        finding_set_fix(finding, "another version may do: --cupti=FILE");
    } else if (!usable) {
        finding_set(finding, VERDICT_PROBLEM, "%s", answer.words);
        finding_set_fix(finding, "it comes with the CUDA toolkit (" TOOLKIT_PAGE ") and with PyTorch "
                                 "(nvidia-cuda-cupti); CUDA_HOME, LD_LIBRARY_PATH or --cupti=FILE say where it is");
    } else if (answer.result == 0) {
        finding_set(finding, VERDICT_OK, "'%s', %s, can be subscribed to", answer.path, version);
    } else if (context->driver.devices == 0) {
        finding_set(finding, VERDICT_NOTE, "'%s', %s; without a GPU it cannot be tried (%s)", answer.path, version,
                    answer.words);
    } else {
        finding_set(finding, VERDICT_PROBLEM, "'%s', %s: subscribing gave %d: %s", answer.path, version, answer.result,
                    answer.words);
        finding_set_fix(finding, "one tool at a time can subscribe: is another profiler or debugger at work here?");
    }
}
