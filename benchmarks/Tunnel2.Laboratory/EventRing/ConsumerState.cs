namespace Tunnel2.Laboratory.EventRing;

/// <summary>
/// State word of a consumer entry: process id (32 bits), generation (24 bits), status (8 bits). One word, so that every change of
/// hands is a single compare-and-swap. Part of the file format.
/// </summary>
internal static class ConsumerState
{
    internal const int Free = 0;

    /// <summary>Being filled in by the process whose id is in the word.</summary>
    internal const int Joining = 1;

    internal const int Active = 2;

    /// <summary>A waiting producer found no sign of life and continued without it.</summary>
    internal const int Skipped = 3;

    internal static int Status(long word) => (int)(word & 0xFF);

    internal static int ProcessId(long word) => (int)(word >> 32);

    internal static long With(long word, int status) => (word & ~0xFFL) | (uint)status;

    /// <summary>The word of the next owner of the entry.</summary>
    internal static long Next(long word, int processId) =>
        ((long)processId << 32) | ((((word >> 8) + 1) & 0xFF_FFFF) << 8) | Joining;
}
