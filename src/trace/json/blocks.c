/*
 * Cuts the file into blocks of text where an event seems to begin. Threads parse blocks ahead; the reader takes them in
 * order, and parses the text of a block itself if the guess was wrong.
 */
#include "trace/json/blocks.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/threads.h"
#include "trace/json/text.h"

/* Larger arrays of events are freed, as only an unusual block needs them. */
#define EVENTS_KEPT 8192

static uint64_t scan_lines(const char *text, size_t length)
{
    uint64_t count = 0;
    const char *end = text + length;
    for (const char *line = text; length > 0 && (line = memchr(line, '\n', (size_t)(end - line))); line++)
        count++;
    return count;
}

static void clear(struct batch *batch)
{
    if (batch->events.capacity > EVENTS_KEPT)
        array_release(&batch->events);
    batch->events.count = batch->texts.count = 0;
    interner_release(&batch->strings);
    batch->length = 0;
    batch->after_event = false;
    batch->any = false;
    batch->start = 0;
    batch->end = INT64_MIN;
    if (batch->problems.any)
        batch->problems = (struct json_problems){0};
}

/* Reads the element at TEXT + AT from at most *SIZE bytes, and sets *SIZE to its bytes. Returns false if the element is
 * incomplete or not JSON, or without memory. */
static bool read_element(struct batch *batch, struct parser *parser, const char *text, size_t at, size_t *size)
{
    struct event_fields *event = array_push(&batch->events);
    if (!event)
        return false;
    enum parse_result result = parser_event(parser, text + at, size, event);
    if (result == PARSE_DONE) {
        int64_t end = event->start + event->duration;
        batch->any |= event->phase != 'M';
        batch->end = end > batch->end ? end : batch->end;
        if (event->start < batch->start && event->start != FIELD_ABSENT)
            batch->start = event->start;
    } else {
        batch->events.count--;
    }
    if (result == PARSE_NOT_AN_EVENT || parser->surrogates > 0)
        parser_note_problems(parser, result, &batch->problems,
                             at + (result == PARSE_NOT_AN_EVENT ? parser->error_at : 0), 0);
    if (result == PARSE_DONE || result == PARSE_FLOW) {
        if (!batch->keeps_texts)
            return true;
        batch->events.count = 0;
        return ADD(array_push, &batch->texts, (struct batch_text){at, (*size)});
    }
    return result == PARSE_NOT_AN_EVENT || result == PARSE_NOTHING;
}

/* Reads events from TEXT[0..length), which FAST_PATH_PADDING zeros follow. Stops at the end, or at anything but a
 * complete element followed by ',', which the reader then reads and reports. Texts go to the batch's strings. Never
 * inlined, as tests/bench/instructions counts its instructions. */
static __attribute__((noinline)) void batch_read(struct batch *batch, struct parser *parser, const char *text,
                                                 size_t length)
{
    clear(batch);
    parser->strings = &batch->strings;
    for (size_t at = scan_blank(text, length); at < length;) {
        size_t size = length - at;
        if (text[at] != '{' || !read_element(batch, parser, text, at, &size))
            return;
        at += size;
        batch->length = at;
        batch->after_event = true;
        at += scan_blank(text + at, length - at);
        if (at == length || text[at] != ',')
            return;
        at++;
        at += scan_blank(text + at, length - at);
        batch->length = at;
        batch->after_event = false;
    }
}

/* How far from its end a block's border is searched for. The text behind the border begins the next block. */
#define TAIL_BYTES ((size_t)64 * 1024)
#define READ_BYTES (BLOCK_BYTES - TAIL_BYTES)

/* Blocks that are neither being parsed nor read, so that nobody waits for a single block. */
#define BLOCKS_AHEAD 4

struct slot {
    struct block block;
    bool ready; /* the block is parsed */
};

struct blocks {
    struct source source;
    unsigned worker_count, started;
    pthread_t workers[BLOCK_WORKERS_MAX];
    struct slot *slots; /* block N is in slot N % slot_count */
    size_t slot_count;
    pthread_mutex_t reading; /* guards the four members below; locked before `lock` */
    char *tail;              /* the text behind the last border */
    size_t tail_length;
    uint64_t next;        /* number of the next block to be read */
    bool ended;           /* all blocks were read */
    pthread_mutex_t lock; /* guards slots[].ready and the two members below */
    pthread_cond_t changed;
    uint64_t taken; /* blocks that blocks_next() returned */
    bool stopping;
};

/* --- text --- */

/* Returns the offset, from LEAST on, of the last '{' that seems to begin an event, or LENGTH if there is none. */
static size_t find_border(const char *text, size_t least, size_t length)
{
    for (size_t end = length; end > least;) {
        const char *brace = memrchr(text + least, '{', end - least);
        if (!brace)
            break;
        end = (size_t)(brace - text);
        size_t at = end;
        while (at > least && json_is_blank(text[at - 1]))
            at--;
        if (at - least >= 2 && text[at - 1] == ',' && text[at - 2] == '}')
            return end;
    }
    return length;
}

/* Reads the next block's text. The caller holds `reading`, or there are no workers. */
static void fill(struct blocks *blocks, struct block *block)
{
    block->failure = (struct source_failure){0};
    block->has_batch = false;
    memcpy(block->text, blocks->tail, blocks->tail_length);
    size_t had = blocks->tail_length;
    size_t got = source_read(&blocks->source, block->text + had, READ_BYTES, &block->failure);
    block->length = had + got;
    block->last = blocks->ended = got < READ_BYTES;
    if (!block->last) {
        size_t least = block->length > TAIL_BYTES ? block->length - TAIL_BYTES : 0;
        size_t border = find_border(block->text, least, block->length);
        blocks->tail_length = block->length - border;
        memcpy(blocks->tail, block->text + border, blocks->tail_length);
        block->length = border;
    }
    memset(block->text + block->length, 0, FAST_PATH_PADDING);
}

/* --- workers --- */

/* Reads the text of the next block into its slot. Returns NULL if there are no more blocks. */
static struct slot *read_next(struct blocks *blocks)
{
    struct slot *slot = NULL;
    pthread_mutex_lock(&blocks->reading);
    pthread_mutex_lock(&blocks->lock);
    while (!blocks->ended && !blocks->stopping && blocks->next >= blocks->taken + blocks->slot_count - 1)
        pthread_cond_wait(&blocks->changed, &blocks->lock);
    if (!blocks->ended && !blocks->stopping)
        slot = &blocks->slots[blocks->next++ % blocks->slot_count];
    pthread_mutex_unlock(&blocks->lock);
    if (slot)
        fill(blocks, &slot->block);
    pthread_mutex_unlock(&blocks->reading);
    return slot;
}

static void *work(void *context)
{
    struct blocks *blocks = context;
    struct parser parser;
    struct slot *slot;
    parser_init(&parser, NULL);
    while ((slot = read_next(blocks))) {
        struct block *block = &slot->block;
        batch_read(&block->batch, &parser, block->text, block->length);
        block->lines = scan_lines(block->text, block->length);
        block->has_batch = true;
        pthread_mutex_lock(&blocks->lock);
        slot->ready = true;
        pthread_cond_broadcast(&blocks->changed);
        pthread_mutex_unlock(&blocks->lock);
    }
    parser_release(&parser);
    return NULL;
}

/* Allocates the texts of the first COUNT slots: one at first, all once the file has more than one block. */
static bool make_slots(struct blocks *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct block *block = &blocks->slots[i].block;
        if (!block->text && !(block->text = malloc(BLOCK_BYTES + FAST_PATH_PADDING)))
            return false;
    }
    return true;
}

/* --- opening, closing, reading --- */

static void blocks_close(struct blocks *blocks)
{
    pthread_mutex_lock(&blocks->lock);
    blocks->stopping = true;
    pthread_cond_broadcast(&blocks->changed);
    pthread_mutex_unlock(&blocks->lock);
    for (unsigned i = 0; i < blocks->started; i++)
        pthread_join(blocks->workers[i], NULL);
    for (size_t i = 0; blocks->slots && i < blocks->slot_count; i++) {
        struct batch *batch = &blocks->slots[i].block.batch;
        array_release(&batch->events);
        array_release(&batch->texts);
        interner_release(&batch->strings);
        *batch = (struct batch){0};
        free(blocks->slots[i].block.text);
    }
    free(blocks->slots);
    free(blocks->tail);
    source_close(&blocks->source);
    pthread_cond_destroy(&blocks->changed);
    pthread_mutex_destroy(&blocks->lock);
    pthread_mutex_destroy(&blocks->reading);
    free(blocks);
}

/* Opens PATH ("-": stdin) with WORKERS threads; 0: one for each processor that this process may use. Returns NULL after
 * error(). */
static struct blocks *blocks_open(const char *path, unsigned workers)
{
    struct blocks *blocks = calloc(1, sizeof(*blocks));
    if (!blocks) {
        error_no_memory("reading a trace");
        return NULL;
    }
    pthread_mutex_init(&blocks->reading, NULL);
    pthread_mutex_init(&blocks->lock, NULL);
    pthread_cond_init(&blocks->changed, NULL);
    blocks->worker_count = ordered_loop_workers(workers, BLOCK_WORKERS_MAX);
    bool is_open = source_open(&blocks->source, path) == 0;
    blocks->slot_count = blocks->worker_count + BLOCKS_AHEAD;
    blocks->slots = calloc(blocks->slot_count, sizeof(*blocks->slots));
    blocks->tail = malloc(TAIL_BYTES);
    if (is_open && blocks->slots && blocks->tail && make_slots(blocks, 1))
        return blocks;
    if (is_open)
        error_no_memory("reading a trace");
    blocks_close(blocks);
    return NULL;
}

void blocks_keep_texts(struct blocks *blocks)
{
    for (size_t i = 0; i < blocks->slot_count; i++)
        blocks->slots[i].block.batch.keeps_texts = true;
}

int blocks_error(const struct blocks *blocks, const struct block *block)
{
    return source_error(&blocks->source, &block->failure);
}

/* Returns the next block, valid until the next call. Must not be called after the last block. */
static const struct block *blocks_next(struct blocks *blocks)
{
    if (blocks->taken == 1 && blocks->started == 0 && make_slots(blocks, blocks->slot_count))
        blocks->started = threads_start(blocks->workers, blocks->worker_count, work, blocks);
    struct slot *slot = &blocks->slots[blocks->started > 0 ? blocks->taken % blocks->slot_count : 0];
    if (blocks->started > 0) {
        pthread_mutex_lock(&blocks->lock);
        blocks->taken++; /* the slot of the block before may be reused */
        pthread_cond_broadcast(&blocks->changed);
        while (!slot->ready)
            pthread_cond_wait(&blocks->changed, &blocks->lock);
        slot->ready = false;
        pthread_mutex_unlock(&blocks->lock);
    } else {
        blocks->next++;
        blocks->taken++;
        fill(blocks, &slot->block);
    }
    return &slot->block;
}

/*
 * The text that the reader sees: a window on the current block, or on several blocks joined if a value spans a border.
 * It also counts lines for messages.
 */

int input_open(struct input *input, const char *path, unsigned workers)
{
    *input = (struct input){.data = "", .blocks = blocks_open(path, workers)};
    if (!input->blocks)
        return -1;
    input->path = input->blocks->source.path;
    return 0;
}

void input_close(struct input *input)
{
    if (input->blocks)
        blocks_close(input->blocks);
    free(input->joined);
    *input = (struct input){0};
}

/* Gets the next block. Returns false at the end of the file, or after error() with *STATUS -1. */
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

/* Moves the rest of the window to the start of `joined`, as the next call of blocks_next() frees its block. */
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

/* Joins the rest of the window with further blocks, to at least twice its size, as the caller parses it again from its
 * start. */
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
