/* Everything below is the evaluator. A position is two sets of squares, the discs of the player to move and of the opponent:
 * bit 0 is a1, bit 7 is h1, bit 8 is a2, bit 63 is h8. It is written to be read, not to be fast. */

static inline int flipside_count(uint64_t set)
{
    int count = 0;
    for (; set != 0; set &= set - 1)
        count++;
    return count;
}

/* A square's number, or -1 if it is off the board. */
static inline int flipside_square(int column, int row)
{
    return column < 0 || column > 7 || row < 0 || row > 7 ? -1 : 8 * row + column;
}

static inline int flipside_has(uint64_t set, int square)
{
    return square >= 0 && (set >> square & 1) != 0;
}

/* The squares the player may move to. */
static inline uint64_t flipside_moves(uint64_t player, uint64_t opponent)
{
    int square, direction;
    uint64_t moves = 0;
    for (square = 0; square < 64; square++) {
        if (flipside_has(player | opponent, square))
            continue;
        for (direction = 0; direction < 9; direction++) {
            int dx = direction % 3 - 1, dy = direction / 3 - 1, length = 0;
            int x = square % 8 + dx, y = square / 8 + dy;
            for (; flipside_has(opponent, flipside_square(x, y)); x += dx, y += dy)
                length++;
            if (length > 0 && flipside_has(player, flipside_square(x, y)))
                moves |= (uint64_t)1 << square;
        }
    }
    return moves;
}

/* Pairs of an empty square and a neighbouring disc with one more square behind it, on lines of four squares or more; halved. */
static inline int flipside_potential_mobility(uint64_t discs, uint64_t empty)
{
    static const int steps[4][2] = {{1, 0}, {0, 1}, {1, 1}, {-1, 1}};
    int square, line, pairs = 0;
    for (square = 0; square < 64; square++) {
        if (!flipside_has(discs, square))
            continue;
        for (line = 0; line < 4; line++) {
            int dx = steps[line][0], dy = steps[line][1], length = 1, n;
            int x = square % 8, y = square / 8;
            int ahead = flipside_square(x + dx, y + dy), behind = flipside_square(x - dx, y - dy);
            for (n = 1; flipside_square(x + n * dx, y + n * dy) >= 0; n++)
                length++;
            for (n = 1; flipside_square(x - n * dx, y - n * dy) >= 0; n++)
                length++;
            if (length >= 4 && ahead >= 0 && behind >= 0)
                pairs += flipside_has(empty, ahead) + flipside_has(empty, behind);
        }
    }
    return pairs / 2 < 63 ? pairs / 2 : 63;
}

/* Corners that the player may take, times 5, and corners that the opponent could take. */
static inline int flipside_corner_moves(uint64_t player, uint64_t opponent)
{
    const uint64_t corners = 0x8100000000000081u;
    return 5 * flipside_count(flipside_moves(player, opponent) & corners)
        + flipside_count(flipside_moves(opponent, player) & corners);
}

/* Quarters of the board with an odd number of empty squares. */
static inline int flipside_odd_quadrants(uint64_t empty)
{
    const uint64_t quadrant = 0x0f0f0f0fu;
    return flipside_count(empty & quadrant) % 2 + flipside_count(empty & quadrant << 4) % 2
        + flipside_count(empty & quadrant << 32) % 2 + flipside_count(empty & quadrant << 36) % 2;
}

/* The value of a scalar feature, by its number. */
static inline int flipside_scalar(int scalar, uint64_t player, uint64_t opponent)
{
    uint64_t empty = ~(player | opponent);
    (void)empty;
    switch (scalar) {
    /* CASES */
    default: return 0;
    }
}

/* IF HIDDEN */
/* Adds a row of the hidden layer to the sums of its units. */
static inline void flipside_add_row(int32_t *sums, const int8_t *row)
{
    int unit;
    for (unit = 0; unit < FLIPSIDE_UNITS; unit++)
        sums[unit] += row[unit];
}

/* What the hidden layer adds: each sum, clamped to 0 to 256, times the output of its unit, in 1/256. */
static inline int32_t flipside_hidden(const int32_t *sums, const int16_t *output)
{
    int32_t total = 128;
    int unit;
    for (unit = 0; unit < FLIPSIDE_UNITS; unit++)
        total += (sums[unit] < 0 ? 0 : sums[unit] > 256 ? 256 : sums[unit]) * output[unit];
    /* Rounded down, also below zero. */
    return (total < 0 ? total - 255 : total) / 256;
}

/* The sum of the position's weights and what the hidden layer adds, in 1/FLIPSIDE_SCALE disc, for the player to move. */
/* ELSE */
/* The sum of the position's weights, in 1/FLIPSIDE_SCALE disc, for the player to move. */
/* END */
static inline int32_t flipside_sum(uint64_t player, uint64_t opponent)
{
    int empties = flipside_count(~(player | opponent));
    /* IF HIDDEN */
    int stage = flipside_stage_of_empties[empties < 60 ? empties : 60];
    const int16_t *weights = flipside_weights[stage];
    const int8_t *rows = flipside_rows[flipside_rows_of_stage[stage]];
    int32_t sum = 0, sums[FLIPSIDE_UNITS];
    uint32_t number;
    /* ELSE */
    const int16_t *weights = flipside_weights[flipside_stage_of_empties[empties < 60 ? empties : 60]];
    int32_t sum = 0;
    /* END */
    int i, digit;
    /* IF HIDDEN */
    for (i = 0; i < FLIPSIDE_UNITS; i++)
        sums[i] = flipside_bias[stage][i];
    /* END */
    for (i = 0; i < FLIPSIDE_PLACES; i++) {
        const uint32_t *squares = flipside_places[i] + 2;
        uint32_t configuration = 0;
        for (digit = (int)flipside_places[i][1] - 1; digit >= 0; digit--) {
            int square = (int)squares[digit];
            configuration = 3 * configuration + (flipside_has(player, square) ? 2 : flipside_has(opponent, square) ? 0 : 1);
        }
        /* IF HIDDEN */
        number = flipside_weight_of_configuration[flipside_places[i][0] + configuration];
        sum += weights[number];
        flipside_add_row(sums, rows + FLIPSIDE_UNITS * number);
        /* ELSE */
        sum += weights[flipside_weight_of_configuration[flipside_places[i][0] + configuration]];
        /* END */
    }
    /* IF HIDDEN */
    for (i = 0; i < FLIPSIDE_SCALARS; i++) {
        number = flipside_scalars[i] + (uint32_t)flipside_scalar(i, player, opponent);
        sum += weights[number];
        flipside_add_row(sums, rows + FLIPSIDE_UNITS * number);
    }
    return sum + flipside_hidden(sums, flipside_output[stage]);
    /* ELSE */
    for (i = 0; i < FLIPSIDE_SCALARS; i++)
        sum += weights[flipside_scalars[i] + (uint32_t)flipside_scalar(i, player, opponent)];
    return sum;
    /* END */
}

/* The value of a finished game, in discs for the player: empty squares go to the winner. */
static inline int flipside_result(uint64_t player, uint64_t opponent)
{
    int own = flipside_count(player), other = flipside_count(opponent);
    return own > other ? 64 - 2 * other : own < other ? 2 * own - 64 : 0;
}

/* The static evaluation in discs, -64 to 64, for the player to move. A player without a move passes: the value is the opponent's,
 * negated; if neither has a move, it is the result. */
static inline double flipside_evaluate(uint64_t player, uint64_t opponent)
{
    int passes = flipside_moves(player, opponent) == 0;
    double discs;
    if (passes && flipside_moves(opponent, player) == 0)
        return flipside_result(player, opponent);
    discs = (passes ? -flipside_sum(opponent, player) : flipside_sum(player, opponent)) / (double)FLIPSIDE_SCALE;
    return discs > 64 ? 64 : discs < -64 ? -64 : discs;
}
