/* Evaluates positions with weights exported to a C header.
 *
 *     flipside export --to c weights.fsw -o weights.h
 *     cc -std=c99 -O2 -I. examples/evaluate.c -o evaluate
 *     ./evaluate < positions.txt
 *
 * A position is 64 characters (X black, O white, - or . empty), a space, and the side to move. The answer is in discs for that
 * side, one number per line. */
#include <stdio.h>
#include <string.h>

#include "weights.h"

int main(void)
{
    char line[256];
    while (fgets(line, sizeof line, stdin) != NULL) {
        uint64_t black = 0, white = 0;
        int square, x_moves;
        if (strlen(line) < 66)
            continue;
        for (square = 0; square < 64; square++) {
            if (line[square] == 'X')
                black |= (uint64_t)1 << square;
            else if (line[square] == 'O')
                white |= (uint64_t)1 << square;
        }
        x_moves = line[65] == 'X';
        printf("%.4f\n", flipside_evaluate(x_moves ? black : white, x_moves ? white : black));
    }
    return 0;
}
