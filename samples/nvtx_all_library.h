/*
 * What nvtx_all.c calls of its shared library.
 */
#ifndef SAMPLES_NVTX_ALL_LIBRARY_H
#define SAMPLES_NVTX_ALL_LIBRARY_H

#include <stdint.h>

enum { LIBRARY_CATEGORY = 7 };

void library_open(const char *domain);
void library_work(void);
int library_pop(void);
void library_end(uint64_t range);
void library_close(void);

#endif
