using System.Diagnostics;

namespace Tunnel2.Multiplexing.Threading;

/// <summary>
/// What one connection may do on a shared thread before all others have theirs, where nothing ever makes it wait. Counted by the work that
/// a connection gives, things read and their bytes, and not by system calls: one receive brings thousands of requests. A mutable struct:
/// keep it in a field. Not thread-safe.
/// </summary>
internal struct WorkTurn
{
    /// <summary>Things read in a turn: requests, runs of a body. One that is answered on the spot costs some ten microseconds.</summary>
    public const int Steps = 16;

    /// <summary>So many bytes count as a step more.</summary>
    public const int BytesPerStep = 8 * 1024;

    /// <summary>
    /// The same where no other connection waits for a turn: 256 KiB are what an uplink sends at once, and some tenths of a millisecond.
    /// </summary>
    public const int LoneBytesPerStep = 16 * 1024;

    /// <summary>
    /// The same for what a visitor sends: 1 MiB takes about a millisecond, on some processors a fifth less of it than in turns of 256 KiB.
    /// What an agent reads of its service gains nothing by it.
    /// </summary>
    public const int LoneUploadBytesPerStep = 64 * 1024;

    /// <summary>The same where very many have something to do.</summary>
    public const int MinBytesPerStep = 1024;

    /// <summary>
    /// Work with fewer bytes is always short. With more it depends on what is in them: 64 KiB in chunks of one byte take milliseconds.
    /// </summary>
    private const int ManyBytes = 4 * 1024;

    /// <summary>As many as have <see cref="BytesPerStep"/> each.</summary>
    private const int Few = 16;

    /// <summary>After so long a round with many bytes is over. In ticks of <see cref="Stopwatch"/>.</summary>
    private static readonly long _longest = Stopwatch.Frequency / 1000;

    private int _done;
    private long _round;

    /// <summary>Whether the turn is over: the connection continues after the others, in a new one.</summary>
    public readonly bool IsOver => _done >= Steps;

    /// <summary>Begins a new turn, because the connection has waited.</summary>
    public void Begin() => _done = 0;

    /// <summary>Counts a step.</summary>
    /// <param name="bytes">What was dealt with in it.</param>
    public void Add(long bytes) => Add(bytes, BytesPerStep);

    /// <summary>
    /// The same as <see cref="IsOver"/> on a thread that counts its rounds: each is a turn, for all that was done in it.
    /// </summary>
    public readonly bool IsOverIn(long round) => _done >= Steps && _round == round;

    /// <summary>
    /// What counts as a step in a round: the fewer want something in it, the more one may do. However many there are, all together move
    /// some MiB at most, and who comes next waits some milliseconds and not for a hundred turns of a hundred KiB.
    /// </summary>
    /// <param name="waiting">How many wait for another turn, ≥ 0.</param>
    /// <param name="events">How many the round serves besides, ≥ 0.</param>
    /// <returns>Bytes, from <see cref="MinBytesPerStep"/> to <see cref="LoneBytesPerStep"/>.</returns>
    public static int BytesPerStepBeside(int waiting, int events)
    {
        var all = waiting + events;
        return all > Few ? Math.Max(MinBytesPerStep, BytesPerStep * Few / all) : waiting > 1 ? BytesPerStep : LoneBytesPerStep;
    }

    /// <summary>The same as <see cref="BytesPerStepBeside"/> for what a visitor sends.</summary>
    public static int UploadBytesPerStep(int bytesPerStep) =>
        bytesPerStep == LoneBytesPerStep ? LoneUploadBytesPerStep : bytesPerStep;

    /// <summary>
    /// Ends the turn if its round lasts too long, although there are bytes left. Asks the clock only after a step of many bytes.
    /// </summary>
    /// <param name="bytes">What was dealt with in the step.</param>
    /// <param name="began">When the round began, by <see cref="Stopwatch.GetTimestamp"/>.</param>
    public void EndIfLong(long bytes, long began)
    {
        if (bytes >= ManyBytes && Stopwatch.GetTimestamp() - began > _longest)
        {
            _done = Steps;
        }
    }

    /// <summary>Counts a step in a round.</summary>
    /// <param name="round">Its number.</param>
    /// <param name="bytes">What was dealt with in the step.</param>
    /// <param name="bytesPerStep">See <see cref="BytesPerStepBeside"/>.</param>
    public void AddIn(long round, long bytes, int bytesPerStep)
    {
        if (_round != round)
        {
            _round = round;
            _done = 0;
        }

        Add(bytes, bytesPerStep);
    }

    private void Add(long bytes, int bytesPerStep) => _done = (int)Math.Min(Steps, _done + 1 + (bytes / bytesPerStep));
}
