#include "tests/tools/job/job.h"

#include <stdio.h>

#include "common/buffer.h"
#include "common/json_out.h"
#include "trace/meaning/base/conversion.h"
#include "trace/sink.h"

/* What stands before the events of a trace. */
struct writing {
    const struct job *job;
    struct sink *sink;
    uint32_t host, first, end; /* of these ranks */
    struct buffer value;
};

static void begin_value(struct writing *writing, struct json_out *json)
{
    writing->value.length = 0;
    json_out_init(json, &writing->value, false);
}

static void end_value(struct writing *writing, const char *key)
{
    writing->sink->format->metadata(writing->sink, key, writing->value.data, writing->value.length);
}

static void put_devices(const struct writing *writing, struct json_out *json)
{
    json_begin_array(json);
    for (uint32_t rank = writing->first; rank < writing->end; rank++) {
        char uuid[64];
        uint32_t local = rank % writing->job->per_host;
        snprintf(uuid, sizeof(uuid), "GPU-6a6f6200-0000-0000-%04x-0000%08x", local, writing->host);
        json_begin_object(json);
        json_put_u64(json, "id", local);
        json_put_text(json, "name", "Generated GPU");
        json_put_text(json, "uuid", uuid);
        json_put_u64(json, "totalGlobalMem", UINT64_C(80) << 30);
        json_put_u64(json, "computeMajor", 9);
        json_put_u64(json, "computeMinor", 0);
        json_put_u64(json, "maxThreadsPerBlock", 1024);
        json_put_u64(json, "maxThreadsPerMultiprocessor", 2048);
        json_put_u64(json, "regsPerBlock", 65536);
        json_put_u64(json, "warpSize", 32);
        json_put_u64(json, "sharedMemPerBlock", 49152);
        json_put_u64(json, "numSms", 132);
        json_put_u64(json, "regsPerMultiprocessor", 65536);
        json_put_u64(json, "sharedMemPerMultiprocessor", 233472);
        json_end(json);
    }
    json_end(json);
}

static void put_losses(struct json_out *json)
{
    json_key(json, "losses");
    json_begin_object(json);
#define LOSS(field, one, several) json_put_u64(json, #field, 0);
    CONVERT_LOSSES(LOSS)
#undef LOSS
    json_end(json);
}

static void put_end(const struct writing *writing, uint32_t rank, struct json_out *json)
{
    const struct job *job = writing->job;
    bool died = job->of_rank[rank].dies < job->steps;
    const int64_t base = JOB_EPOCH - 1000000000; /* of the times of events */
    if (!job->died) {
        json_put_text(json, "state", "finished");
        return;
    }
    json_put_text(json, "state", "ended without its exit handlers");
    json_key(json, "alive");
    json_begin_object(json);
    json_key(json, "ts");
    json_us(json, job_shown(job, writing->host, died ? job->died : job->end) - base);
    json_end(json);
}

static void put_process(const struct writing *writing, uint32_t rank, struct json_out *json)
{
    const struct job *job = writing->job;
    char number[16], host[32];
    uint32_t local = rank % job->per_host;
    snprintf(number, sizeof(number), "%u", local);
    snprintf(host, sizeof(host), "node%u", writing->host);
    json_begin_object(json);
    json_put_u64(json, "pid", JOB_FIRST_PID + local);
    json_put_u64(json, "parent_pid", 1);
    json_put_u64(json, "rank", rank);
    json_put_u64(json, "local_rank", local);
    json_put_u64(json, "world_size", job->ranks);
    json_put_text(json, "host", host);
    json_put_text(json, "program", "train");
    json_put_text(json, "command", "train");
    put_end(writing, rank, json);
    json_put_i64(json, "started", job_shown(job, writing->host, 0));
    json_put_i64(json, "finished", job_shown(job, writing->host, job->end));
    json_put_u64(json, "correlation_offset", job_correlation_offset(job, rank));
    json_key(json, "gpu_pids");
    json_begin_object(json);
    json_put_u64(json, number, local);
    json_end(json);
    put_losses(json);
    json_end(json);
}

static void put_gputrace(const struct writing *writing, struct json_out *json)
{
    char host[32];
    snprintf(host, sizeof(host), "node%u", writing->host);
    json_begin_object(json);
    json_put_text(json, "version", GPUTRACE_VERSION);
    json_key(json, "command");
    json_begin_array(json);
    json_string(json, "train");
    json_end(json);
    json_put_text(json, "host", host);
    json_put_i64(json, "started", job_shown(writing->job, writing->host, 0));
    if (!writing->job->died) /* else its launcher was killed, too */
        json_put_text(json, "exit", "exit 0");
    put_losses(json);
    json_key(json, "processes");
    json_begin_array(json);
    for (uint32_t rank = writing->first; rank < writing->end; rank++)
        put_process(writing, rank, json);
    json_end(json);
    json_end(json);
}

static void write_number(struct writing *writing, const char *key, int64_t number)
{
    struct json_out json;
    begin_value(writing, &json);
    json_i64(&json, number);
    end_value(writing, key);
}

static void write_text(struct writing *writing, const char *key, const char *text)
{
    struct json_out json;
    begin_value(writing, &json);
    json_string(&json, text);
    end_value(writing, key);
}

void job_metadata_write(const struct job *job, uint32_t first, uint32_t end, const char *path, struct sink *sink)
{
    struct writing writing = {.job = job, .sink = sink, .host = job_host_of(job, first), .first = first, .end = end};
    struct json_out json;
    buffer_init_memory(&writing.value);
    write_number(&writing, "schemaVersion", 1);
    begin_value(&writing, &json);
    put_devices(&writing, &json);
    end_value(&writing, "deviceProperties");
    write_number(&writing, "cupti_version", 130001);
    write_number(&writing, "cuda_runtime_version", 13000);
    write_number(&writing, "cuda_driver_version", 13000);
    writing.value.length = 0;
    if (end - first == 1) {
        buffer_format(&writing.value, "{\"backend\": \"nccl\", \"rank\": %u, \"world_size\": %u}", first, job->ranks);
        end_value(&writing, "distributedInfo");
    }
    write_text(&writing, "displayTimeUnit", "ms");
    write_number(&writing, "baseTimeNanoseconds", JOB_EPOCH - 1000000000);
    write_text(&writing, "traceName", path);
    begin_value(&writing, &json);
    put_gputrace(&writing, &json);
    end_value(&writing, "gputrace");
    buffer_release(&writing.value);
}
