/*
 * Parts of a job (.gpr): the input is a recipe that changes fields of the records of a real part, which is then
 * reported on alone and with the part of other ranks. The first byte chooses how; then each change has four bytes: the
 * block, the record in it (255: all of them), the word of the record, and the value.
 */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/files.h"
#include "tests/fuzz/tool/scene.h"

#include "analysis/job/job_report.h"
#include "analysis/job/rank_report.h"
#include "analysis/report.h"
#include "common/buffer.h"

/* A word is four bytes, a number that does not fit in one goes into two. */
static const int64_t values[] = {
    0,
    -1,
    1,
    2,
    INT32_MAX,
    INT64_C(1) << 30,
    INT64_C(1) << 31,
    UINT32_MAX,
    UINT32_MAX - 1,
    INT64_C(1) << 32,
    INT64_C(1) << 49,
    INT64_C(1) << 53,
    INT64_C(1) << 61,
    INT64_MAX / 2,
    INT64_MAX,
    INT64_MIN,
    INT64_MIN + 1,
    -INT64_MAX / 2,
    -(INT64_C(1) << 49),
};
#define VALUE_COUNT (sizeof(values) / sizeof(*values))

/* The part of the ranks from FIRST on, made once. */
static const char *make_part(const char *name, int first, char *path, size_t size)
{
    const struct report_options options = {.workers = 1};
    if (*path)
        return path;
    cJSON *trace = scene_new();
    scene_move_ranks(trace, first);
    snprintf(path, size, "%s", fuzz_path(name));
    FUZZ_HOLDS(job_report_map(&options, scene_write(trace, "trace.json"), path) == 0);
    cJSON_Delete(trace);
    return path;
}

/* Where block NUMBER of the part is; false: it has no records. */
static bool find_block(const uint8_t *part, size_t size, uint32_t number, struct rank_report_head *head, size_t *at)
{
    for (*at = RANK_REPORT_MAGIC_BYTES; *at + sizeof(*head) <= size; *at += head->count * head->record) {
        memcpy(head, part + *at, sizeof(*head));
        *at += sizeof(*head);
        if (head->block == number)
            return head->count > 0;
    }
    return false;
}

static void change_part(uint8_t *part, size_t size, const uint8_t change[4])
{
    struct rank_report_head head;
    size_t at;
    if (!find_block(part, size, change[0] % RANK_REPORT_BLOCK_COUNT, &head, &at))
        return;
    int64_t value = values[change[3] % VALUE_COUNT];
    size_t bytes = value == (int32_t)value || value == (int64_t)(uint32_t)value ? 4 : 8;
    size_t place = head.record < 4 ? 0 : change[2] % (head.record / 4) * 4;
    if (value < 0 && change[3] / VALUE_COUNT % 2 == 0) /* else a word of four bytes */
        bytes = 8;
    bytes = place + bytes > head.record ? head.record - place : bytes;
    for (uint64_t i = 0; i < head.count; i++)
        if (change[1] == SCENE_ALL || i == change[1] % head.count)
            memcpy(part + at + i * head.record + place, &value, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char part_path[4096], other_path[4096];
    static uint8_t part[1 << 20];
    const char *paths[] = {NULL, make_part("other.gpr", 2, other_path, sizeof(other_path))};
    int file = open(make_part("real.gpr", 0, part_path, sizeof(part_path)), O_RDONLY | O_CLOEXEC);
    ssize_t length = read(file, part, sizeof(part));
    close(file);
    FUZZ_HOLDS(length > RANK_REPORT_MAGIC_BYTES && (size_t)length < sizeof(part));
    if (size == 0)
        return 0;
    for (size_t i = 1; i + 4 <= size && i < SCENE_RECIPE_MOST; i += 4)
        change_part(part, (size_t)length, data + i);
    paths[0] = fuzz_file("part.gpr", part, (size_t)length);
    struct report_options options = {.format = (enum report_format)(data[0] % (REPORT_HTML + 1)), .workers = 1};
    options.width = data[0] & 64 ? 100 : 0;
    scene_report(&options, paths, 1);
    scene_report(&options, paths, 2);
    return 0;
}
