/*
 * The bytes of a file, plain or gzip: what threads unpack is what one thread reads, and fails as it does.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/files.h"

#include "common/buffer.h"
#include "trace/gzip/source.h"

enum { STEP = 500, TEXT_MOST = 1 << 22 };

struct reading {
    struct buffer text;
    struct source_failure failure;
};

static void read_with(const char *path, unsigned workers, struct reading *reading)
{
    struct source source;
    size_t got;
    reading->failure = (struct source_failure){0};
    buffer_init_memory(&reading->text);
    FUZZ_HOLDS(source_open(&source, path, workers) == 0);
    do {
        got = source_read(&source, buffer_reserve(&reading->text, STEP), STEP, &reading->failure);
        buffer_advance(&reading->text, got);
    } while (got == STEP && reading->text.length < TEXT_MOST);
    source_close(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading alone, several;
    const char *path = fuzz_file("trace.json.gz", data, size);
    read_with(path, 1, &alone);
    read_with(path, 3, &several);
    bool loses_some = alone.failure.failed && !alone.failure.cut_off; /* zlib does, of what it had before the damage */
    FUZZ_HOLDS(alone.text.length >= TEXT_MOST || alone.failure.failed == several.failure.failed);
    FUZZ_HOLDS(alone.failure.cut_off == several.failure.cut_off);
    FUZZ_HOLDS(strcmp(alone.failure.message, several.failure.message) == 0);
    FUZZ_HOLDS(loses_some ? several.text.length >= alone.text.length : several.text.length == alone.text.length);
    FUZZ_HOLDS(alone.text.length == 0 || memcmp(several.text.data, alone.text.data, alone.text.length) == 0);
    buffer_release(&alone.text);
    buffer_release(&several.text);
    return 0;
}
