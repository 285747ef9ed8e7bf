namespace Tunnel2.Http1;

/// <summary>The limits of a parser. All are checked before any byte beyond them is read.</summary>
internal sealed class Http1Limits
{
    /// <summary>The largest value <see cref="MaxHeadBytes"/> may have: a <see cref="FieldRange"/> keeps name lengths in 24 bits.</summary>
    public const int LargestHeadBytes = 1 << 24;

    /// <summary>Limits for a tunnel: 64 KiB and 200 fields per head, 16 KiB per request line.</summary>
    public static Http1Limits Default { get; } = new();

    /// <summary>Bytes of a whole head, from the first byte of the start line to the empty line's LF; also of a trailer section.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not in 64 … <see cref="LargestHeadBytes"/>.</exception>
    public int MaxHeadBytes
    {
        get;
        init => field = InRange(value, 64, LargestHeadBytes);
    } = 64 * 1024;

    /// <summary>Field lines of a head; also of a trailer section.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not in 1 … 65,536.</exception>
    public int MaxFields
    {
        get;
        init => field = InRange(value, 1, 1 << 16);
    } = 200;

    /// <summary>Bytes of a request line without its CR LF.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not in 16 … <see cref="LargestHeadBytes"/>.</exception>
    public int MaxRequestLineBytes
    {
        get;
        init => field = InRange(value, 16, LargestHeadBytes);
    } = 16 * 1024;

    /// <summary>Bytes of a method. The longest registered one (UPDATEREDIRECTREF) has 17.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not in 1 … 1,024.</exception>
    public int MaxMethodBytes
    {
        get;
        init => field = InRange(value, 1, 1024);
    } = 32;

    /// <summary>Bytes of one chunk's header (size and extensions) without its CR LF.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not in 16 … 65,536.</exception>
    public int MaxChunkHeaderBytes
    {
        get;
        init => field = InRange(value, 16, 1 << 16);
    } = 1024;

    private static int InRange(int value, int min, int max)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(value, min);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(value, max);
        return value;
    }
}
