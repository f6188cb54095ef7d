/*
 * Compares the letters and digits of a name, in lower case and without a prefix such as "nccl", with tables of words.
 */
#include "analysis/comm/collective.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "analysis/names/name_facts.h"

const char *const collective_words[] = {"",
#define KIND(constant, word) word,
                                        COLLECTIVE_KINDS(KIND)
#undef KIND
};

/* Sets WORD to the letters and digits of TEXT in lower case, at most COLLECTIVE_WORD - 1 of them. */
static void plain_word(const char *text, char word[COLLECTIVE_WORD])
{
    size_t length = 0;
    for (; *text && length < COLLECTIVE_WORD - 1; text++)
        if (isalnum((unsigned char)*text))
            word[length++] = (char)tolower((unsigned char)*text);
    word[length] = '\0';
}

static const char *after_prefix(const char *word, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(word, prefix, length) == 0 ? word + length : word;
}

static enum collective_kind kind_of_word(const char *word)
{
    for (unsigned kind = 1; kind < COLLECTIVE_KIND_COUNT; kind++)
        if (after_prefix(word, collective_words[kind]) != word)
            return (enum collective_kind)kind;
    if (after_prefix(word, "bcast") != word)
        return COLLECTIVE_BROADCAST;
    return after_prefix(word, "irecv") != word ? COLLECTIVE_RECV : COLLECTIVE_OTHER;
}

const char *collective_plain_name(const char *name, char word[COLLECTIVE_WORD])
{
    plain_word(name, word);
    return after_prefix(after_prefix(after_prefix(word, "c10d"), "nccl"), "mpi");
}

enum collective_kind collective_kind_of(const char *name)
{
    char plain[COLLECTIVE_WORD];
    const char *word = collective_plain_name(name, plain);
    enum collective_kind kind = kind_of_word(word);
    return kind == COLLECTIVE_OTHER && *word == 'i' ? kind_of_word(word + 1) : kind; /* MPI_Iallreduce */
}

enum collective_kind collective_kind_of_kernel(const char *name)
{
    const char *reduces = "crossdevicereduce"; /* an all-reduce, of vLLM and SGLang */
    if (communication_find_word(name, &reduces, 1) == 0)
        return COLLECTIVE_ALLREDUCE;
    size_t kind = communication_find_word(name, collective_words + 1, COLLECTIVE_KIND_COUNT - 1) + 1;
    return kind < COLLECTIVE_KIND_COUNT ? (enum collective_kind)kind : COLLECTIVE_OTHER;
}

int64_t collective_type_bytes(const char *type)
{
    static const struct {
        const char *word;
        int64_t bytes;
    } types[] = {
        {"complexhalf", 4}, {"complexfloat", 8}, {"complexdouble", 16}, {"byte", 1},     {"char", 1},
        {"bool", 1},        {"short", 2},        {"half", 2},           {"bfloat16", 2}, {"double", 8},
        {"long", 8},        {"uint64", 8},       {"int64", 8},          {"uint32", 4},   {"int32", 4},
        {"uint16", 2},      {"int16", 2},        {"uint8", 1},          {"int8", 1},     {"float64", 8},
        {"float32", 4},     {"float16", 2},      {"float8", 1},         {"float", 4},    {"int", 4},
    };
    char plain[COLLECTIVE_WORD];
    plain_word(type, plain);
    const char *word = after_prefix(after_prefix(after_prefix(plain, "c10"), "torch"), "nccl");
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (after_prefix(word, types[i].word) != word)
            return types[i].bytes;
    return 0;
}

int64_t collective_elements(enum collective_kind kind, int64_t in, int64_t out, int64_t group_size)
{
    int64_t elements = in > out ? in : out, whole;
    int64_t own = kind == COLLECTIVE_GATHER ? in : out, all = kind == COLLECTIVE_GATHER ? out : in;
    if (all <= own && (kind == COLLECTIVE_GATHER || kind == COLLECTIVE_SCATTER) && own >= 0 && group_size > 0 &&
        !__builtin_mul_overflow(own, group_size, &whole))
        return whole;
    return elements;
}

double collective_bus_factor(enum collective_kind kind, int64_t group_size)
{
    double ranks = (double)group_size;
    switch (kind) {
    case COLLECTIVE_ALLREDUCE: return group_size > 0 ? 2 * (ranks - 1) / ranks : 0;
    case COLLECTIVE_ALLGATHER:
    case COLLECTIVE_REDUCESCATTER:
    case COLLECTIVE_ALLTOALL:
    case COLLECTIVE_GATHER:
    case COLLECTIVE_SCATTER: return group_size > 0 ? (ranks - 1) / ranks : 0;
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_SENDRECV:
    case COLLECTIVE_SEND:
    case COLLECTIVE_RECV: return 1;
    default: return 0;
    }
}
