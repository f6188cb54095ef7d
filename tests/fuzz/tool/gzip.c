/*
 * The bytes of a file, plain or gzip: what is read is what zlib reads, and fails as it does.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/files.h"

#include <zlib.h>

#include "common/buffer.h"
#include "trace/gzip/gzip.h"

enum { STEP = 500, TEXT_MOST = 1 << 22 };

struct reading {
    struct buffer text;
    struct source_failure failure;
};

static void read_source(const char *path, struct reading *reading)
{
    struct source source;
    size_t got;
    reading->failure = (struct source_failure){0};
    buffer_init_memory(&reading->text);
    FUZZ_HOLDS(source_open(&source, path) == 0);
    do {
        got = source_read(&source, buffer_reserve(&reading->text, STEP), STEP, &reading->failure);
        buffer_advance(&reading->text, got);
    } while (got == STEP && reading->text.length < TEXT_MOST);
    source_close(&source);
}

static void read_by_zlib(const char *path, struct reading *reading)
{
    int got, code;
    gzFile file = gzopen(path, "rb");
    FUZZ_HOLDS(file != NULL);
    gzbuffer(file, 64 * 1024); /* as gzip.c: whether zlib tells of an end that is missing depends on the size */
    reading->failure = (struct source_failure){0};
    buffer_init_memory(&reading->text);
    while (reading->text.length < TEXT_MOST && (got = gzread(file, buffer_reserve(&reading->text, STEP), STEP)) > 0)
        buffer_advance(&reading->text, (size_t)got);
    const char *message = gzerror(file, &code), *after = strstr(message, ": ");
    if (code != Z_OK) {
        reading->failure.failed = true;
        reading->failure.cut_off = code == Z_BUF_ERROR;
        snprintf(reading->failure.message, sizeof(reading->failure.message), "%s", after ? after + 2 : message);
    }
    gzclose_r(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading zlib, ours;
    const char *path = fuzz_file("trace.json.gz", data, size);
    read_by_zlib(path, &zlib);
    read_source(path, &ours);
    size_t common = zlib.text.length < ours.text.length ? zlib.text.length : ours.text.length;
    bool loses_some =
        zlib.failure.failed && !zlib.failure.cut_off; /* what was unpacked in the same step as the damage */
    FUZZ_HOLDS(zlib.text.length >= TEXT_MOST || zlib.failure.failed == ours.failure.failed);
    FUZZ_HOLDS(zlib.failure.cut_off == ours.failure.cut_off);
    FUZZ_HOLDS(strcmp(zlib.failure.message, ours.failure.message) == 0);
    FUZZ_HOLDS(loses_some || ours.text.length == zlib.text.length);
    FUZZ_HOLDS(common == 0 || memcmp(ours.text.data, zlib.text.data, common) == 0);
    buffer_release(&zlib.text);
    buffer_release(&ours.text);
    return 0;
}
