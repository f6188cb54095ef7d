#include "agent/allocator/block.h"

#include <stdlib.h>

#define BLOCKS_AT_ONCE 128

struct block *block_new(struct block **spare)
{
    if (!*spare) {
        struct block *blocks = calloc(BLOCKS_AT_ONCE, sizeof(*blocks));
        for (unsigned i = 0; blocks && i < BLOCKS_AT_ONCE; i++)
            block_push(spare, &blocks[i]);
    }
    return block_pop(spare);
}

void block_recycle(struct block **spare, struct block *block)
{
    *block = (struct block){.others = block->others, .other_room = block->other_room};
    block_push(spare, block);
}

int block_add_stream(struct block *block, CUstream stream)
{
    if (stream == block->stream)
        return 0;
    for (unsigned i = 0; i < block->other_count; i++)
        if (block->others[i] == stream)
            return 0;
    if (block->other_count == block->other_room) {
        unsigned room = block->other_room ? block->other_room * 2 : 4;
        CUstream *grown = realloc(block->others, room * sizeof(*grown));
        if (!grown)
            return -1;
        block->others = grown;
        block->other_room = room;
    }
    block->others[block->other_count++] = stream;
    return 0;
}
