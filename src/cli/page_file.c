#include "cli/page_file.h"

#include <stdint.h>
#include <string.h>

#include "common/log.h"
#include "cli/progress.h"
#include "trace/output.h"

/* A trace that stands where the page's name was forgotten is not to be replaced by a page. */
static int check_name(const char *path)
{
    static const char *const endings[] = {".html", ".htm"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
        if (length > strlen(endings[i]) && strcmp(path + length - strlen(endings[i]), endings[i]) == 0)
            return 0;
    return error("--html: '%s' does not end in .html (try --html report.html)", path);
}

int page_file_check(const char *path, bool other_format)
{
    if (other_format)
        return error("--html writes a page, and --format asks for another format: use one of them");
    return check_name(path);
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
