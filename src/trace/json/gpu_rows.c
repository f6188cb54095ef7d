/* Recognises rows of GPU work by the names that other profilers give to processes and threads. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "trace/json/source_parts.h"

/* Whether a row is a GPU's, by REST, what its name has behind the number of the GPU. JAX has nothing there. The row
 * "stream:all" of TensorFlow 1 has all operations, which its other rows repeat. */
static bool is_gpu(const char *rest, const char *thread)
{
    if (strcmp(rest, "/stream:all Compute") == 0)
        return true;
    return *rest == '\0' && (*thread == '\0' || strncmp(thread, "Stream", strlen("Stream")) == 0);
}

/* "/device:GPU:1", "/gpu:1" before TensorFlow 1.4, and "GPU1" of rocprof. -1: it is not the process of a GPU. */
static int64_t device_of(const char *process, const char *thread)
{
    const char *device = strstr(process, "GPU:"), *old = strstr(process, "/gpu:");
    device = device && device - process >= 8 && strncmp(device - 8, "/device:", 8) == 0 ? device : old ? old + 1 : NULL;
    char *rest;
    if (!device && strncmp(process, "GPU", strlen("GPU")) != 0)
        return -1;
    const char *digits = device ? device + strlen("GPU:") : process + strlen("GPU");
    long long number = strtoll(digits, &rest, 10);
    bool found = rest > digits && *digits >= '0' && *digits <= '9' && (device ? is_gpu(rest, thread) : *rest == '\0');
    return found && number <= UINT16_MAX ? number : -1;
}

/* Old PyTorch has the word itself as the process's number. */
static bool is_word(const char *process, const char *word)
{
    process += *process == '"';
    return strncmp(process, word, strlen(word)) == 0 &&
           strspn(process + strlen(word), "\"") == strlen(process + strlen(word));
}

/* Whether an operation of Ascend only makes its stream wait. */
static bool is_wait(const char *name)
{
    static const char *const starts[] = {"EVENT_", "CAPTURE_", "STREAM_WAIT_EVENT", "MEM_WAIT_VALUE",
                                         "MEM_WRITE_VALUE"};
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static bool has(const char *name, const char *word)
{
    return strcasestr(name, word);
}

struct gpu_row gpu_row_find(const char *process, const char *thread, int64_t tid, const char *name)
{
    static const struct {
        const char *process;
        enum category category;
    } others[] = {{"COPY", CATEGORY_GPU_MEMCPY},
                  {"CPU HIP API", CATEGORY_CUDA_RUNTIME},
                  {"Ascend Hardware", CATEGORY_KERNEL},
                  {"CUDA functions", CATEGORY_KERNEL},
                  {"CPU functions", CATEGORY_CPU_OP}};
    struct gpu_row row = {.device = device_of(process, thread), .stream = tid};
    row.category = row.device >= 0 ? CATEGORY_KERNEL : CATEGORY_OTHER;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (is_word(process, others[i].process))
            row.category = others[i].category;
    bool waits = is_wait(name) || has(name, "notify_");
    if (row.category == CATEGORY_KERNEL)
        row.category = waits                 ? CATEGORY_OTHER
                       : has(name, "memcpy") ? CATEGORY_GPU_MEMCPY
                       : has(name, "memset") ? CATEGORY_GPU_MEMSET
                                             : CATEGORY_KERNEL;
    if (!category_in(row.category, CATEGORIES_GPU_OPS))
        return (struct gpu_row){row.category, -1, -1};
    if (is_word(process, "CUDA functions")) /* a thread for each GPU */
        row.device = tid;
    row.device = row.device < 0 ? 0 : row.device;
    const char *digits = strpbrk(thread, "0123456789");
    row.stream = digits && strncmp(thread, "Stream", strlen("Stream")) == 0 ? strtoll(digits, NULL, 10) : tid;
    return row;
}
