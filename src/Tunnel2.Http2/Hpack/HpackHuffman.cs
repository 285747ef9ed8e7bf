namespace Tunnel2.Http2.Hpack;

/// <summary>
/// The Huffman code of RFC 7541 appendix B. It is canonical, so that the lengths of the codes are the whole code: symbols are numbered by
/// length and then by value. The decoder is a table of states and half bytes. Immutable.
/// </summary>
internal static class HpackHuffman
{
    private const int EndOfString = 256;
    private const int LongestCode = 30;

    /// <summary>How many bits of padding there may be at most (RFC 7541 section 5.2).</summary>
    private const int MaxPadding = 7;

    // Two places for each inner node; a leaf is the complement of its symbol.
    private static readonly int[] _tree = CreateTree();
    private static readonly bool[] _endsWell = CreateEnds(_tree);
    private static readonly Step[] _steps = CreateSteps(_tree);

    /// <summary>The bits of each symbol's code.</summary>
    private static ReadOnlySpan<byte> Lengths =>
    [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
        6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
        13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
        15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
        20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
        22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
        26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
        20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
        30,
    ];

    /// <summary>How many bytes a coded string can have at most when it is decoded: the shortest code has 5 bits.</summary>
    public static int MaxDecodedLength(int length) => (int)((long)length * 8 / 5);

    /// <summary>Decodes a string.</summary>
    /// <param name="source">The coded bytes.</param>
    /// <param name="destination">At least <see cref="MaxDecodedLength"/> bytes.</param>
    /// <returns>Bytes written; -1 when it is not coded right.</returns>
    public static int Decode(ReadOnlySpan<byte> source, Span<byte> destination)
    {
        var steps = _steps;
        var state = 0;
        var written = 0;
        foreach (var twice in source)
        {
            var step = steps[(state << 4) | (twice >> 4)];
            if (step.Symbol >= 0)
            {
                destination[written++] = (byte)step.Symbol;
            }

            var second = steps[(step.Next << 4) | (twice & 0xf)];
            if (second.Symbol >= 0)
            {
                destination[written++] = (byte)second.Symbol;
            }

            if (step.Symbol == Step.Broken || second.Symbol == Step.Broken)
            {
                return -1;
            }

            state = second.Next;
        }

        return _endsWell[state] ? written : -1;
    }

    private static int[] CreateTree()
    {
        var tree = new int[2 * EndOfString];
        var nodes = 1;
        var code = 0u;
        for (var length = 1; length <= LongestCode; length++, code <<= 1)
        {
            for (var symbol = 0; symbol <= EndOfString; symbol++)
            {
                if (Lengths[symbol] == length)
                {
                    Insert(tree, ref nodes, code++, length, symbol);
                }
            }
        }

        return tree;
    }

    private static bool[] CreateEnds(int[] tree)
    {
        // The padding is the beginning of the code of the end, which has ones only.
        var ends = new bool[EndOfString];
        for (int node = 0, depth = 0; depth <= MaxPadding; depth++)
        {
            ends[node] = true;
            node = tree[(2 * node) + 1];
        }

        return ends;
    }

    private static Step[] CreateSteps(int[] tree)
    {
        var steps = new Step[EndOfString << 4];
        for (var i = 0; i < steps.Length; i++)
        {
            steps[i] = CreateStep(tree, i >> 4, i & 0xf);
        }

        return steps;
    }

    private static void Insert(int[] tree, ref int nodes, uint code, int length, int symbol)
    {
        var node = 0;
        for (var bit = length - 1; bit > 0; bit--)
        {
            ref var next = ref tree[(2 * node) + (int)((code >> bit) & 1)];
            if (next == 0)
            {
                next = nodes++;
            }

            node = next;
        }

        tree[(2 * node) + (int)(code & 1)] = ~symbol;
    }

    private static Step CreateStep(int[] tree, int node, int bits)
    {
        var symbol = Step.None;
        for (var bit = 3; bit >= 0; bit--)
        {
            node = tree[(2 * node) + ((bits >> bit) & 1)];
            if (node < 0)
            {
                if (~node == EndOfString)
                {
                    return new Step(0, Step.Broken);
                }

                symbol = (short)~node;
                node = 0;
            }
        }

        return new Step((byte)node, symbol);
    }

    /// <summary>Where half a byte leads.</summary>
    /// <param name="Next">The next state.</param>
    /// <param name="Symbol">The byte that is complete with it, or one of the constants. No two are: the shortest code has 5 bits.</param>
    private readonly record struct Step(byte Next, short Symbol)
    {
        public const short None = -1;
        public const short Broken = -2;
    }
}
