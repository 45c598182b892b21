/* Evaluates positions with weights exported to a C header.
 *
 *     flipside export --to c weights.fsw -o weights.h
 *     cc -std=c99 -O2 -I. examples/evaluate.c -o evaluate
 *     ./evaluate < positions.txt
 *
 * A position is 64 characters (X black, O white, - or . empty), a space, and the side to move. Empty lines and those that begin with
 * # or % are skipped. The answer is in discs for that side, one number per line. */
#include <stdio.h>
#include <string.h>

#include "weights.h"

/* Reads the discs of the player to move and of the opponent. What follows the side to move, like scored moves, is ignored. Returns 0
 * if the line is not a position. */
static int read_position(const char *line, uint64_t *player, uint64_t *opponent)
{
    uint64_t black = 0, white = 0;
    int square, x_moves;
    for (square = 0; square < 64; square++) {
        char found = line[square];
        if (found == 'X' || found == 'x')
            black |= (uint64_t)1 << square;
        else if (found == 'O' || found == 'o')
            white |= (uint64_t)1 << square;
        else if (found != '-' && found != '.')
            return 0;
    }
    if (line[64] != ' ' || line[65] == '\0' || strchr("XxOo", line[65]) == NULL)
        return 0;
    x_moves = line[65] == 'X' || line[65] == 'x';
    *player = x_moves ? black : white;
    *opponent = x_moves ? white : black;
    return 1;
}

int main(void)
{
    char buffer[256];
    while (fgets(buffer, sizeof buffer, stdin) != NULL) {
        const char *line = buffer + strspn(buffer, " \t");
        uint64_t player, opponent;
        if (strchr(buffer, '\n') == NULL) {
            /* The rest of a long line is not needed. */
            int next = getchar();
            while (next != '\n' && next != EOF)
                next = getchar();
        }
        buffer[strcspn(buffer, "\r\n")] = '\0';
        if (*line == '\0' || *line == '#' || *line == '%')
            continue;
        if (!read_position(line, &player, &opponent)) {
            fprintf(stderr, "not a position: %s\n", line);
            return 1;
        }
        printf("%.4f\n", flipside_evaluate(player, opponent));
    }
    return 0;
}
