/*
 * Every section of a report, and its page: the first byte chooses the format, the rest is a trace file.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/files.h"

#include "common/buffer.h"
#include "analysis/report.h"

static int touch(void *context, const char *data, size_t size)
{
    (void)context;
    fuzz_touch(data, size);
    return 0;
}

static struct report_options options_of(unsigned choice)
{
    static const char *const columns[] = {NULL, "total", "name", "calls"};
    return (struct report_options){
        .format = (enum report_format)(choice & 3),
        .names = (enum report_names)((choice >> 2) & 3),
        .by_grid = (choice & 16) != 0,
        .by_shape = (choice & 16) != 0,
        .has_snapshot = (choice & 32) != 0,
        .snapshot = 1000000,
        .top = choice & 64 ? 2 : 0,
        .width = choice & 128 ? 20 + choice % 80 : 0,
        .colour = (choice & 1) != 0,
        .bars = (choice & 2) != 0,
        .ascii = (choice & 8) != 0,
        .columns = choice % 5 == 0   ? "name,total"
                   : choice % 7 == 0 ? "all"
                                     : NULL,
        .unit = (enum report_unit)((choice >> 4) % 5),
        .sort = columns[(choice >> 6) & 3],
    };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct report_options options = options_of(data[0]);
    const char *path = fuzz_file("trace.json", data + 1, size - 1);
    struct buffer out;
    buffer_init(&out, touch, NULL);
    report_files(&options, &path, 1, &out);
    if (options.format == REPORT_MARKDOWN) {
        options.format = REPORT_HTML;
        report_files(&options, &path, 1, &out);
    }
    buffer_finish(&out);
    buffer_release(&out);
    return 0;
}
