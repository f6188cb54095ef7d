#include "cli/page_file.h"

#include <stdint.h>

#include "common/log.h"
#include "cli/progress.h"
#include "common/text.h"
#include "trace/output.h"

int page_file_check(const char *path, bool other_format)
{
    if (other_format)
        return error("--html writes a page, and --format asks for another format: use one of them");
    if (text_ends_with(path, ".html") || text_ends_with(path, ".htm"))
        return 0;
    /* A trace that stands where the page's name was forgotten is not to be replaced by a page. */
    return error("--html: '%s' does not end in .html (try --html report.html)", path);
}

int page_file_write(const char *path, int (*write)(void *context, struct buffer *out), void *context)
{
    struct output output;
    uint64_t bytes;
    end_when_asked(NULL, EXIT_FAILURE, "'%s' was not written", path);
    if (output_open(&output, path) < 0)
        return -1;
    int status = write(context, &output.buffer);
    if (status < 0) {
        output_discard(&output);
        return status;
    }
    return output_commit(&output, &bytes) < 0 ? -1 : status;
}
