#include "tests/tools/job/job.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/json_out.h"
#include "common/log.h"

static void put_hosts(const struct job *job, struct json_out *json)
{
    json_key(json, "hosts");
    json_begin_array(json);
    for (uint32_t host = 0; host < job->hosts; host++) {
        char name[32];
        snprintf(name, sizeof(name), "node%u", host);
        json_begin_object_flat(json);
        json_put_text(json, "host", name);
        json_put_i64(json, "offset_ns", job->of_host[host].offset);
        json_key(json, "drift_ppm");
        json_double(json, job->of_host[host].drift_ppm, -1);
        json_key(json, "link");
        json_double(json, job->of_host[host].link, -1);
        json_end(json);
    }
    json_end(json);
}

static void put_ranks(const struct job *job, struct json_out *json)
{
    json_key(json, "ranks");
    json_begin_array(json);
    for (uint32_t rank = 0; rank < job->ranks; rank++) {
        json_begin_object_flat(json);
        json_put_u64(json, "rank", rank);
        json_put_u64(json, "host", job_host_of(job, rank));
        json_put_u64(json, "stage", job_stage_of(job, rank));
        json_put_i64(json, "late_ns", job->of_rank[rank].late);
        json_put_i64(json, "data_ns", job->of_rank[rank].data);
        json_put_i64(json, "copy_ns", job->of_rank[rank].copy);
        json_key(json, "slower");
        json_double(json, job->of_rank[rank].slower, -1);
        json_put_i64(json, "wait_ns", job->waits[rank]);
        json_end(json);
    }
    json_end(json);
}

static void put_communication(const struct job *job, struct json_out *json)
{
    json_key(json, "communication");
    json_begin_array(json);
    for (size_t i = 0; i < job->truths.count; i++) {
        const struct job_truth *truth = &job->truths.items[i];
        const char *name = job_operation_names[truth->operation].name;
        json_begin_object_flat(json);
        json_put_text(json, "group", job_group_names[truth->group]);
        json_put_text(json, "operation", truth->group == JOB_PIPELINE ? "send and recv" : name);
        json_put_u64(json, "bytes", truth->bytes);
        json_put_u64(json, "ranks", truth->ranks);
        json_put_u64(json, "count", truth->count);
        json_put_i64(json, "time_ns", truth->time);
        json_put_i64(json, "wait_ns", truth->wait);
        json_put_i64(json, "transfer_ns", truth->transfer);
        json_end(json);
    }
    json_end(json);
}

int job_truth_write(const struct job *job)
{
    char path[4096];
    struct buffer text;
    struct json_out json;
    snprintf(path, sizeof(path), "%s/truth.json", job->directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return error("cannot write '%s'", path);
    buffer_init(&text, buffer_drain_fd, BUFFER_FD(fd));
    json_out_init(&json, &text, true);
    json_begin_object(&json);
    json_put_u64(&json, "steps", job->steps);
    json_put_i64(&json, "end_ns", job->end);
    put_hosts(job, &json);
    put_ranks(job, &json);
    put_communication(job, &json);
    json_end(&json);
    buffer_char(&text, '\n');
    int failure = buffer_finish(&text);
    buffer_release(&text);
    close(fd);
    return failure == 0 ? 0 : error("cannot write '%s'", path);
}
