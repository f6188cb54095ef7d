/*
 * Frames of call stacks, as gputrace's metadata tells them, in words.
 */
#ifndef GPUTRACE_ANALYSIS_FRAME_H
#define GPUTRACE_ANALYSIS_FRAME_H

#include <stdbool.h>

struct cJSON;
struct sink;

/* "main (/src/leak.cu:42)", "compute (libmath.so+0x1234)", "0x7f0012345678": as much as is known. Before it, the calls
 * that the compiler put into the function: "inner (/src/a.cu:1) < outer (/src/a.cu:9)". */
void frame_put_calls(struct sink *out, const struct cJSON *frame);

/* The innermost of these, its file without folders: "inner (a.cu:1)". */
void frame_put_place(struct sink *out, const struct cJSON *frame);

/* Whether a frame is CUDA's own or the tracing's, not the program's. */
bool frame_is_cuda(const struct cJSON *frame);

#endif
