#include "agent/python/code.h"

#include <string.h>

#include "common/python_lines.h"

/* --- strings --- */

static size_t copy_string(const struct interpreter *python, uint64_t object, char *out, size_t space)
{
    if (python_word(object, PYTHON_TYPE) != python->text)
        return 0;
    struct python_text text = python_text_of(python_half(object, PYTHON_TEXT_STATE));
    uint64_t characters = object + (text.is_ascii ? python->layout.text.ascii : python->layout.text.compact);
    if (text.width == 0)
        return 0;
    return python_text_utf8(out, space, (const void *)(uintptr_t)characters, python_word(object, PYTHON_SIZE),
                            text.width);
}

size_t code_function(const struct interpreter *python, uint64_t code, char *out, size_t space)
{
    return copy_string(python, python_word(code, python->layout.code.name), out, space);
}

size_t code_file(const struct interpreter *python, uint64_t code, char *out, size_t space)
{
    return copy_string(python, python_word(code, python->layout.code.file), out, space);
}

/* --- which code it is --- */

/* Odd numbers without a pattern: sums of products with them differ where the factors do, and all can be multiplied at
 * the same time. */
static const uint64_t factors[] = {
    UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9), UINT64_C(0x94d049bb133111eb),
    UINT64_C(0xd6e8feb86659fd93), UINT64_C(0xa0761d6478bd642f), UINT64_C(0xe7037ed1a0b428db),
    UINT64_C(0x8ebc6af09c88c6e3), UINT64_C(0x589965cc75374cc3), UINT64_C(0x1d8e4e27c47d124f),
    UINT64_C(0xeb44accab455d165), UINT64_C(0xc2b2ae3d27d4eb4f), UINT64_C(0x165667b19e3779f9),
};

/* Its length, and its last characters where they can be had cheaply: of ASCII alone. */
static uint64_t print_string(const struct interpreter *python, uint64_t object, const uint64_t *by)
{
    uint64_t length = python_word(object, PYTHON_SIZE), last = 0;
    uint32_t state = python_half(object, PYTHON_TEXT_STATE);
    if ((state >> 5 & 3) == 3 && length >= sizeof(last))
        memcpy(&last, (const char *)(uintptr_t)(object + python->layout.text.ascii + length - sizeof(last)),
               sizeof(last));
    return object * by[0] + length * by[1] + last * by[2];
}

/* A name's hash, too, which is of all its characters; it is asked for when the code is made. */
static uint64_t print_contents(const struct interpreter *python, uint64_t code, uint64_t name, uint64_t file)
{
    uint64_t table = python_word(code, python->layout.code.line_table);
    uint64_t length = python_word(table, PYTHON_SIZE), first = 0, last = 0;
    if (length >= sizeof(first)) {
        first = python_word(table, PYTHON_BYTES);
        memcpy(&last, (const char *)(uintptr_t)(table + PYTHON_BYTES + length - sizeof(last)), sizeof(last));
    }
    return print_string(python, name, factors) + print_string(python, file, factors + 3) + table * factors[6] +
           length * factors[7] + first * factors[8] + last * factors[9] +
           python_word(name, PYTHON_TEXT_HASH) * factors[10];
}

uint64_t code_print(const struct interpreter *python, uint64_t code)
{
    const struct python_layout *layout = &python->layout;
    uint64_t name = python_word(code, layout->code.name), file = python_word(code, layout->code.file);
    uint64_t first_line = python_half(code, layout->code.first_line);
    uint32_t version = layout->code.version ? python_half(code, layout->code.version) : 0;
    uint64_t print = version ? name * factors[0] + file * factors[3] : print_contents(python, code, name, file);
    print += (first_line << 32 | version) * factors[11];
    return print ^ print >> 32;
}

/* --- lines --- */

uint32_t code_line(const struct interpreter *python, uint64_t code, uint64_t instruction)
{
    const struct python_layout *layout = &python->layout;
    uint64_t bytes = python_word(code, layout->code.line_table);
    struct line_table table = {
        .kind = layout->lines,
        .bytes = (const unsigned char *)(uintptr_t)(bytes + PYTHON_BYTES),
        .length = python_word(bytes, PYTHON_SIZE),
        .first = (int)python_half(code, layout->code.first_line),
    };
    /* The byte of the bytecode that the instruction is at; below 0: before the first. */
    int64_t offset = layout->frames == PYTHON_FRAME_OBJECTS
                         ? (int32_t)instruction * (layout->lines == PYTHON_LNOTAB ? 1 : 2)
                         : (int64_t)(instruction - (code + layout->code.bytecode));
    return line_at(&table, offset);
}
