using System.Net.Sockets;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Transport.Engine;

/// <summary>
/// Runs everything on its own threads, which wait for sockets by epoll, as nginx does with its workers
/// (docs/decisions/0007-own-epoll-transport.md). A connection belongs to one loop at a time. Work that gains from being batched (an
/// uplink's sends) runs after the events of a round.
/// </summary>
internal sealed class EpollEngine : IEngine
{
    /// <summary>How many loops at most: further processors are left for other work.</summary>
    public const int MaxLoops = 32;

    /// <summary>With at most this many streams the write loop runs at once, because there is nothing to batch.</summary>
    private const int QuietStreams = 2;

    private readonly int _most;
    private readonly Lock _growth = new();

    /// <summary>The array never changes: an added loop makes a new array.</summary>
    private EpollLoop[] _loops;
    private uint _next = uint.MaxValue;
    private bool _isDisposed;

    /// <summary>Starts the loops.</summary>
    /// <param name="loops">How many, 1 to <see cref="MaxLoops"/>.</param>
    /// <param name="most">How many loops there may be with added ones; not above <paramref name="loops"/>: none can be added.</param>
    /// <exception cref="IOException">The system has no descriptors for them.</exception>
    public EpollEngine(int loops = 1, int most = 0)
    {
        _most = Math.Min(most, MaxLoops);
        ArgumentOutOfRangeException.ThrowIfLessThan(loops, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(loops, MaxLoops);
        _loops = new EpollLoop[loops];
        for (var i = 0; i < loops; i++)
        {
            try
            {
                _loops[i] = new EpollLoop(Faults, i, MayLoseOne);
            }
            catch
            {
                Array.ForEach(_loops, static loop => loop?.Dispose());
                throw;
            }
        }
    }

    /// <inheritdoc/>
    public EngineMode Mode => EngineMode.Epoll;

    /// <inheritdoc/>
    public bool IsInline => true;

    /// <inheritdoc/>
    public ContainedFaults Faults { get; } = new();

    /// <inheritdoc/>
    public IReadOnlyList<EpollLoop> Loops => Volatile.Read(ref _loops);

    /// <inheritdoc/>
    public bool OutlivesLoops { get; set; }

    /// <inheritdoc/>
    public EpollLoop NextLoop()
    {
        var loops = Volatile.Read(ref _loops);
        var loop = TakeNext(loops);
        for (var skipped = 1; skipped < loops.Length && !loop.IsInService; skipped++)
        {
            loop = TakeNext(loops);
        }

        return loop;
    }

    /// <inheritdoc/>
    public int SpareLoops => Math.Max(0, _most - Loops.Count);

    /// <inheritdoc/>
    public EpollLoop? TryAddLoop()
    {
        lock (_growth)
        {
            if (_isDisposed || _loops.Length >= _most)
            {
                return null;
            }

            try
            {
                var added = new EpollLoop(Faults, _loops.Length, MayLoseOne);
                Volatile.Write(ref _loops, [.. _loops, added]);
                return added;
            }
            catch (IOException)
            {
                return null;
            }
        }
    }

    /// <inheritdoc/>
    public UplinkSettings Apply(UplinkSettings settings) =>
        settings with { WriterScheduler = _loops[0], InlineContinuations = true, QuietStreams = QuietStreams, Faults = Faults };

    /// <inheritdoc/>
    public IUplinkTransport CreateUplinkTransport(Socket socket) => EpollChannel.AdoptUplink(NextLoop(), socket);

    /// <inheritdoc/>
    public void Dispose()
    {
        lock (_growth)
        {
            _isDisposed = true;
        }

        Array.ForEach(_loops, static loop => loop.Dispose());
    }

    private EpollLoop TakeNext(EpollLoop[] loops) => loops[Interlocked.Increment(ref _next) % (uint)loops.Length];

    /// <summary>
    /// Whether other loops are left when one has failed. Without any the process would only seem to live. So it ends, and its starter
    /// notices.
    /// </summary>
    private bool MayLoseOne() => OutlivesLoops && Array.Exists(Volatile.Read(ref _loops), static loop => loop?.IsLeft == true);
}
