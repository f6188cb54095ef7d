/*
 * Saves the registers and the stack memory of a crashing thread, and the lines of /proc/self/maps whose code the stack
 * refers to. The tool unwinds them later (symbols/symbols.c), because unwinding is not safe in a signal handler.
 */
#include "agent/main/crash_stack.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/spool/recorder.h"
#include "common/clock.h"

#ifdef __x86_64__

#define STACK_BYTES_MAX (UINT32_C(48) << 10)
#define MAPS_BYTES 4096
#define LINE_MAX_BYTES 1024 /* of maps: longer ones are passed over */

/* /proc/self/maps, line by line. It is too large for the stack of a handler, and one thread alone crashes. */
static struct maps {
    int file;
    size_t next, length; /* of `bytes` */
    char bytes[MAPS_BYTES];
    char line[LINE_MAX_BYTES];
    size_t line_length;
    uint64_t start, end; /* of the line */
    bool is_code, is_readable;
} maps;

static bool maps_open(void)
{
    maps.next = maps.length = 0;
    maps.file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    return maps.file >= 0;
}

/* Reads the next character; -1: there is none. */
static int next_char(void)
{
    if (maps.next == maps.length) {
        ssize_t got = read(maps.file, maps.bytes, sizeof(maps.bytes));
        maps.next = 0;
        maps.length = got > 0 ? (size_t)got : 0;
    }
    return maps.next < maps.length ? (unsigned char)maps.bytes[maps.next++] : -1;
}

static uint64_t take_hex(const char **at)
{
    uint64_t value = 0;
    for (;; (*at)++) {
        char c = **at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit == 16)
            return value;
        value = value << 4 | digit;
    }
}

/* "7f5a01000000-7f5a01028000 r-xp 00028000 08:01 1234    /lib/libc.so.6" */
static bool maps_next(void)
{
    int c;
    for (maps.line_length = 0; (c = next_char()) >= 0 && c != '\n';)
        if (maps.line_length < sizeof(maps.line) - 1)
            maps.line[maps.line_length++] = (char)c;
    maps.line[maps.line_length] = '\0';
    if (maps.line_length == 0)
        return false;
    const char *at = maps.line;
    maps.start = take_hex(&at);
    at += *at == '-';
    maps.end = take_hex(&at);
    maps.is_readable = at[0] == ' ' && at[1] == 'r';
    maps.is_code = maps.is_readable && at[2] != '\0' && at[3] == 'x' && maps.line_length < sizeof(maps.line) - 1;
    return true;
}

/* Bytes that can be read from AT on, in its mapping: what is mapped behind it may be a device's. */
static uint64_t readable_from(uint64_t at)
{
    uint64_t bytes = 0;
    if (!maps_open())
        return 0;
    while (bytes == 0 && maps_next())
        if (at >= maps.start && at < maps.end && maps.is_readable)
            bytes = maps.end - at;
    close(maps.file);
    return bytes;
}

/* Frames that are not its own: sanitizers think little of that. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static void copy_words(char *to, uint64_t from,
                                                                                      uint32_t bytes)
{
    for (uint32_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word = *(const volatile uint64_t *)(uintptr_t)(from + i);
        __builtin_memcpy(to + i, &word, sizeof(word));
    }
}

/* By the numbers that DWARF gives them: x86-64 psABI, figure 3.36. */
static void copy_registers(uint64_t registers[SPOOL_CRASH_REGISTERS], const greg_t *from)
{
    static const int order[SPOOL_CRASH_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
    };
    for (size_t i = 0; i < SPOOL_CRASH_REGISTERS; i++)
        registers[i] = (uint64_t)from[order[i]];
}

/* Whether a word of the stack, or the instruction pointer, lies in the code of the line. */
static bool is_referred_to(const struct spool_crash_stack *stack, const char *words)
{
    uint64_t word = stack->registers[SPOOL_CRASH_REGISTERS - 1];
    if (word >= maps.start && word < maps.end)
        return true;
    for (uint32_t i = 0; i + sizeof(word) <= stack->length; i += sizeof(word)) {
        __builtin_memcpy(&word, words + i, sizeof(word));
        if (word >= maps.start && word < maps.end)
            return true;
    }
    return false;
}

static void publish_code(const struct spool_crash_stack *stack, const char *words)
{
    struct spool_mapping *record;
    if (!maps_open())
        return;
    while (maps_next()) {
        if (!maps.is_code || !is_referred_to(stack, words))
            continue;
        uint32_t length = (uint32_t)maps.line_length;
        record = crash_chunk_begin(SPOOL_RECORD_MAPPING,
                                   spool_record_bytes(sizeof(*record), sizeof(record->text), length), clock_now());
        if (!record)
            break;
        record->length = length;
        __builtin_memcpy(record->text, maps.line, length);
        crash_chunk_commit(&record->head);
    }
    close(maps.file);
}

void crash_stack_publish(const void *context, uint32_t thread)
{
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t from = (uint64_t)registers[REG_RSP] & ~(uint64_t)(sizeof(uint64_t) - 1);
    uint64_t bytes = readable_from(from);
    uint32_t length = bytes < STACK_BYTES_MAX ? (uint32_t)bytes : STACK_BYTES_MAX;
    struct spool_crash_stack *record = NULL;
    for (; !record && length > 0; length /= 2) { /* names may have taken the space */
        record = crash_chunk_begin(SPOOL_RECORD_CRASH_STACK,
                                   spool_record_bytes(sizeof(*record), sizeof(record->text), length), clock_now());
        if (record)
            record->length = length & ~(uint32_t)(sizeof(uint64_t) - 1);
    }
    if (!record)
        return;
    char *words = (char *)record + offsetof(struct spool_crash_stack, text);
    copy_registers(record->registers, registers);
    record->stack = from;
    record->thread = thread;
    copy_words(words, from, record->length);
    crash_chunk_commit(&record->head);
    publish_code(record, words);
}

#else

void crash_stack_publish(const void *context, uint32_t thread)
{
    (void)context, (void)thread;
}

#endif
