/*
 * The text that the reader sees: a window on the block at hand, or on several blocks joined where a value spans a
 * border. It also counts lines for messages.
 */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "trace/json/blocks.h"
#include "trace/json/parse.h"
#include "trace/json/text.h"

int input_open(struct input *input, const char *path, unsigned workers)
{
    *input = (struct input){.data = "", .blocks = blocks_open(path, workers)};
    if (!input->blocks)
        return -1;
    input->path = blocks_path(input->blocks);
    return 0;
}

void input_close(struct input *input)
{
    if (input->blocks)
        blocks_close(input->blocks);
    free(input->joined);
    *input = (struct input){0};
}

/* Takes the next block. A failure is reported when the text before it is used up. */
static bool take_block(struct input *input, int *status)
{
    bool fails = input->block && input->block->failure.failed;
    input->cut_off = fails && input->block->failure.cut_off;
    fails &= !input->cut_off;
    if (fails)
        *status = blocks_error(input->blocks, input->block);
    input->ended = input->block && input->block->last;
    if (fails || input->ended)
        return false;
    input->block = blocks_next(input->blocks);
    return true;
}

static bool make_space(struct input *input, size_t size)
{
    if (size <= input->capacity)
        return true;
    size_t capacity = input->capacity * 2 > size ? input->capacity * 2 : size;
    char *joined = realloc(input->joined, capacity);
    if (!joined)
        return false;
    input->joined = joined;
    input->capacity = capacity;
    return true;
}

/* Moves the text that is left to the start of `joined`, before the block that it lies in is given back. */
static int keep_rest(struct input *input)
{
    size_t left = input_left(input);
    bool is_joined = input->data == input->joined;
    if (is_joined)
        memmove(input->joined, input_text(input), left);
    if (!make_space(input, left + FAST_PATH_PADDING))
        return error_no_memory("a window of the trace");
    if (!is_joined)
        memcpy(input->joined, input_text(input), left);
    memset(input->joined + left, 0, FAST_PATH_PADDING);
    input->data = input->joined;
    input->start = 0;
    input->length = left;
    return 0;
}

/* Twice the rest at least, as the caller begins again with what it has. */
static bool join(struct input *input, int *status)
{
    size_t left = input_left(input);
    if (left >= INPUT_WINDOW_LIMIT) {
        *status = input_error(input, 0, "a value of more than %zu MiB: expected events, each far smaller",
                              INPUT_WINDOW_LIMIT >> 20);
        return false;
    }
    if ((*status = keep_rest(input)) < 0)
        return false;
    size_t wanted = 2 * left < INPUT_WINDOW_LIMIT ? 2 * left : INPUT_WINDOW_LIMIT;
    while (input->length < wanted && take_block(input, status)) {
        size_t length = input->block->length;
        if (!make_space(input, input->length + length + FAST_PATH_PADDING)) {
            *status = error_no_memory("a window of the trace");
            return false;
        }
        memcpy(input->joined + input->length, input->block->text, length + FAST_PATH_PADDING);
        input->data = input->joined;
        input->length += length;
    }
    return *status == 0 && input->length > left;
}

bool input_more(struct input *input, int *status)
{
    if (input->ended || *status < 0)
        return false;
    if (input_left(input) > 0)
        return join(input, status);
    do {
        if (!take_block(input, status))
            return false;
    } while (input->block->length == 0 && !input->block->last);
    input->data = input->block->text;
    input->start = 0;
    input->length = input->block->length;
    return input->length > 0 || input_more(input, status);
}

const struct batch *input_batch(const struct input *input)
{
    bool at_start = input->block && input->data == input->block->text && input->start == 0;
    return at_start && input->block->has_batch ? &input->block->batch : NULL;
}

void input_advance(struct input *input, size_t size)
{
    input->lines += scan_lines(input_text(input), size);
    input->offset += size;
    input->start += size;
}

void input_advance_batch(struct input *input)
{
    const struct block *block = input->block;
    if (block->batch.length < block->length) {
        input_advance(input, block->batch.length);
        return;
    }
    input->lines += block->lines;
    input->offset += block->length;
    input->start += block->length;
}

uint64_t input_line(const struct input *input, size_t ahead)
{
    return input->lines + scan_lines(input_text(input), ahead) + 1;
}

int input_error(const struct input *input, size_t ahead, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    return error("'%s', line %" PRIu64 " (byte %" PRIu64 "): %s", input->path, input_line(input, ahead),
                 input->offset + ahead, message);
}
