#include "check_trace/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int input_open(struct input *input, const char *path)
{
    input->path = path;
    input->line = 1;
    input->at = input->filled = 0;
    input->file = gzopen(path, "rb");
    if (!input->file) {
        fprintf(stderr, "cannot open '%s': %s\n", path, strerror(errno));
        return -1;
    }
    gzbuffer(input->file, 1 << 18);
    return 0;
}

void input_close(struct input *input)
{
    gzclose_r(input->file);
}

int input_fill(struct input *input)
{
    int got = gzread(input->file, input->bytes, sizeof(input->bytes));
    int failure = Z_OK;
    const char *words = gzerror(input->file, &failure);
    /* A gzip file that is cut reads to its end and says so only here. */
    if (got < 0 || failure < 0) {
        fprintf(stderr, "%s: cannot be read: %s\n", input->path, failure == Z_ERRNO ? strerror(errno) : words);
        exit(1);
    }
    input->at = 0;
    input->filled = (size_t)got;
    return got ? input->bytes[0] : INPUT_END;
}
