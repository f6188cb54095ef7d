/*
 * What names of kernels are known to contain: the words of CUDA's libraries and of PyTorch.
 */
#ifndef GPUTRACE_ANALYSIS_NAMES_PRETTY_WORDS_H
#define GPUTRACE_ANALYSIS_NAMES_PRETTY_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* What to do with the template arguments of a class or a function. */
enum pretty_rule {
    PRETTY_ARGUMENTS,   /* write the word and its arguments */
    PRETTY_UNWRAP,      /* write one argument alone, in place of all */
    PRETTY_SPLICE,      /* write the arguments alone, as if they were those of what is around */
    PRETTY_SHAPE,       /* numbers: 128x64x32 */
    PRETTY_LEAVE_OUT,   /* write nothing */
    PRETTY_NO_NUMBERS,  /* the word, and arguments that are not numbers */
    PRETTY_OF_FUNCTORS, /* the word, and those arguments that have their own; the first functor is without them */
};

struct pretty_word {
    const char *word;
    enum pretty_rule rule;
    size_t argument; /* of PRETTY_UNWRAP */
    bool anywhere;   /* the word is also known without the namespace of a library */
};

/* All take LENGTH bytes at WORD, an identifier without its namespaces. */

/* A namespace that a library's names begin with. */
bool pretty_is_library(const char *word, size_t length);
/* What to do with its template arguments; NULL: nothing special. */
const struct pretty_word *pretty_find(const char *word, size_t length);
/* A word to write in place of it, such as "half" for "c10::Half"; NULL: none. */
const char *pretty_other_word(const char *word, size_t length);
/* Without what names of functors and of functions around them begin and end with: "CUDAFunctor_add" is "add". */
void pretty_strip(const char **word, size_t *length);
/* The bytes that the names of cuBLAS's and cuDNN's kernels need not end with. */
size_t pretty_tail(const char *word, size_t length);

#endif
