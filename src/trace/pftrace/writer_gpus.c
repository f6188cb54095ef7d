/*
 * Writes the GPUs of the trace, and the figures that Perfetto's scripts and its view of compute kernels need besides a
 * launch's arguments: total sizes, waves, and how many blocks each resource of a multiprocessor allows. They depend
 * only on the launch's shape and the GPU, so they are written once for each interned kernel, marked
 * PFTRACE_OWN_DERIVED, and our reader drops them.
 */
#include "trace/pftrace/writer_gpus.h"

#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/protobuf.h"

static void put_text(struct pftrace_state *state, uint32_t field, const char *text)
{
    pftrace_put_valid(state, &state->body, field, text, strlen(text));
}

#define GPUS_MOST 1024 /* devices with larger numbers are ignored */

static int number_of(const cJSON *device, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(device, key);
    return cJSON_IsNumber(value) ? value->valueint : -1;
}

/* Returns the name of the architecture with a compute capability, or NULL if it is newer than this list. */
static const char *architecture(int major, int minor)
{
    static const struct {
        int major, minor; /* first compute capability of the name */
        const char *name;
    } names[] = {{13, 0, NULL},    {10, 0, "Blackwell"}, {9, 0, "Hopper"}, {8, 9, "Ada"},     {8, 0, "Ampere"},
                 {7, 5, "Turing"}, {7, 0, "Volta"},      {6, 0, "Pascal"}, {5, 0, "Maxwell"}, {3, 0, "Kepler"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (major > names[i].major || (major == names[i].major && minor >= names[i].minor))
            return names[i].name;
    return NULL;
}

/* Writes "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" as bytes, which Perfetto shows as digits. */
static void put_uuid(struct buffer *packet, const char *text)
{
    char bytes[16];
    size_t count = 0;
    unsigned byte;
    for (text += strncmp(text, "GPU-", 4) == 0 ? 4 : 0; *text && count < sizeof(bytes); text += 2) {
        text += *text == '-';
        if (sscanf(text, "%2x", &byte) != 1 || !text[1])
            return;
        bytes[count++] = (char)byte;
    }
    if (count == sizeof(bytes) && !*text)
        protobuf_put_bytes(packet, PB_GPU_UUID, bytes, count);
}

/* Writes a GPU. Perfetto counts GPUs from 0, so a number without a device (DEVICE is NULL) gets an empty entry. */
static void put_gpu(struct pftrace_state *state, const cJSON *device)
{
    size_t gpu = protobuf_begin(&state->body, PB_GPU_INFO_GPUS);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(device, "name"));
    const char *uuid = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(device, "uuid"));
    const char *sort = architecture(number_of(device, "computeMajor"), number_of(device, "computeMinor"));
    const char *address = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(device, "pciBusId"));
    if (name) {
        put_text(state, PB_GPU_NAME, name);
        put_text(state, PB_GPU_MODEL, name);
    }
    if (device)
        put_text(state, PB_GPU_VENDOR, "NVIDIA");
    if (address)
        put_text(state, PB_GPU_PCI_BDF, address);
    if (sort)
        put_text(state, PB_GPU_ARCHITECTURE, sort);
    if (uuid)
        put_uuid(&state->body, uuid);
    if (device) {
        /* All other numbers of the device. */
        for (const cJSON *value = device->child; value; value = value->next) {
            char text[32];
            if (!cJSON_IsNumber(value) || strcmp(value->string, "id") == 0)
                continue;
            snprintf(text, sizeof(text), "%.15g", value->valuedouble);
            size_t fact = protobuf_begin(&state->body, PB_GPU_EXTRA_INFO);
            put_text(state, PB_GPU_EXTRA_KEY, value->string);
            put_text(state, PB_GPU_EXTRA_VALUE, text);
            protobuf_end(&state->body, fact);
        }
    }
    protobuf_end(&state->body, gpu);
}

/* Returns the first device with the number ID, or NULL. Processes that see different GPUs have several with one
 * number. */
static const cJSON *find_device(const cJSON *devices, int id)
{
    const cJSON *device;
    cJSON_ArrayForEach(device, devices) if (number_of(device, "id") == id) return device;
    return NULL;
}

static uint32_t limit_of(const cJSON *device, const char *key)
{
    int value = number_of(device, key);
    return value > 0 ? (uint32_t)value : 0;
}

/* Appends the limits of DEVICE to state->own_rows.gpus; all 0 if DEVICE is NULL. */
static void keep_limits(struct sink *sink, const cJSON *device)
{
    struct pftrace_state *state = sink->state;
    struct pftrace_gpu *gpu = array_push(&state->own_rows.gpus);
    if (!gpu) {
        pftrace_fail(sink);
        return;
    }
    *gpu = (struct pftrace_gpu){.multiprocessors = limit_of(device, "numSms")};
    struct multiprocessor *one = &gpu->multiprocessor;
    one->major = limit_of(device, "computeMajor");
    one->warp_size = limit_of(device, "warpSize");
    one->warps = one->warp_size ? limit_of(device, "maxThreadsPerMultiprocessor") / one->warp_size : 0;
    one->blocks = multiprocessor_most_blocks(one->major, limit_of(device, "computeMinor"));
    one->registers = limit_of(device, "regsPerMultiprocessor");
    one->shared_bytes = limit_of(device, "sharedMemPerMultiprocessor");
}

void pftrace_write_gpus(struct sink *sink, const char *value, size_t size)
{
    struct pftrace_state *state = sink->state;
    cJSON *devices = cJSON_ParseWithLength(value, size), *device;
    int count = 0;
    for (device = cJSON_IsArray(devices) ? devices->child : NULL; device; device = device->next) {
        int id = number_of(device, "id");
        count = id >= count && id < GPUS_MOST ? id + 1 : count;
    }
    for (int id = 0; id < count; id++)
        keep_limits(sink, find_device(devices, id));
    state->body.length = 0;
    size_t info = protobuf_begin(&state->body, PB_PACKET_GPU_INFO);
    for (int id = 0; id < count; id++)
        put_gpu(state, find_device(devices, id));
    protobuf_end(&state->body, info);
    if (count > 0)
        pftrace_plain_packet(sink->buffer, &state->body);
    cJSON_Delete(devices);
}

/* --- figures of a launch --- */

struct figures {
    struct pftrace_sequence *sequence;
    struct buffer *kernel;
};

static size_t begin_figure(const struct figures *out, const char *name)
{
    bool is_new;
    size_t begun = protobuf_begin(out->kernel, PB_KERNEL_ARGS);
    protobuf_put_u64(
        out->kernel, PB_COMPUTE_ARG_NAME_IID,
        pftrace_intern(out->sequence, PFTRACE_ARG_NAMES, PB_INTERNED_COMPUTE_ARG_NAMES, name, strlen(name), &is_new));
    protobuf_put_u64(out->kernel, PFTRACE_OWN_DERIVED, 1);
    return begun;
}

static void put_count(const struct figures *out, const char *name, uint64_t value)
{
    size_t begun = begin_figure(out, name);
    protobuf_put_u64(out->kernel, PB_COMPUTE_ARG_UINT, value);
    protobuf_end(out->kernel, begun);
}

static void put_real(const struct figures *out, const char *name, double value)
{
    size_t begun = begin_figure(out, name);
    protobuf_put_double(out->kernel, PB_COMPUTE_ARG_DOUBLE, value);
    protobuf_end(out->kernel, begun);
}

/* Writes how many blocks of THREADS threads each resource of a multiprocessor allows, and the waves of BLOCKS blocks,
 * if all limits are known. */
static void put_limits(const struct figures *out, const struct pftrace_gpu *gpu, const struct pftrace_launch *launch,
                       uint32_t threads, uint64_t blocks)
{
    const struct multiprocessor *one = &gpu->multiprocessor;
    uint32_t warps = (threads + one->warp_size - 1) / one->warp_size;
    uint32_t held = multiprocessor_blocks(one, threads, launch->registers, launch->shared);
    if (one->warps == 0 || one->registers == 0 || one->shared_bytes == 0 || held == 0)
        return;
    put_count(out, "occupancy_limit_blocks", one->blocks);
    put_count(out, "occupancy_limit_warps", one->warps / warps);
    put_count(out, "occupancy_limit_registers", multiprocessor_warps_by_registers(one, launch->registers) / warps);
    put_count(out, "occupancy_limit_shared_mem", multiprocessor_blocks_by_shared(one, launch->shared));
    put_real(out, "sm__maximum_warps_per_active_cycle_pct", 100.0 * held * warps / one->warps);
    if (gpu->multiprocessors > 0)
        put_real(out, "waves_per_multiprocessor", (double)blocks / gpu->multiprocessors / held);
}

static bool product(const uint32_t size[3], uint64_t *result)
{
    return !__builtin_mul_overflow((uint64_t)size[0] * size[1], (uint64_t)size[2], result);
}

void pftrace_put_figures(const struct pftrace_rows *rows, const struct pftrace_put *put, struct buffer *kernel)
{
    const struct pftrace_launch *launch = &put->launch;
    const struct figures out = {put->sequence, kernel};
    const struct pftrace_gpu *gpu = put->device < rows->gpus.count ? &rows->gpus.items[put->device] : NULL;
    uint64_t threads, blocks, all;
    if (!product(launch->block, &threads) || !product(launch->grid, &blocks) || threads == 0 ||
        __builtin_mul_overflow(threads, blocks, &all))
        return;
    put_count(&out, "workgroup_size", threads);
    put_count(&out, "grid_size", blocks);
    put_count(&out, "thread_count", all);
    if (launch->dynamic <= launch->shared && (launch->has_dynamic || launch->shared == 0)) {
        put_count(&out, "shared_mem_static", launch->shared - launch->dynamic);
        put_count(&out, "shared_mem_dynamic", launch->dynamic);
    }
    if (launch->shared_config > 0)
        put_count(&out, "shared_mem_config_size", launch->shared_config);
    if (gpu && gpu->multiprocessor.warp_size > 0 && threads <= UINT16_MAX)
        put_limits(&out, gpu, launch, (uint32_t)threads, blocks);
}
