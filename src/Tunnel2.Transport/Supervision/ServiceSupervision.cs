using System.Globalization;
using Tunnel2.Protocol;

namespace Tunnel2.Transport.Supervision;

/// <summary>
/// What a service manager hears of the process (systemd, <c>Type=notify</c>): that it is ready, what it does, that it stops, and, where the
/// manager asks for it (<c>WatchdogSec=</c>), that it still serves. A process that does not serve sends no such sign, and is started again
/// by the manager. Thread-safe.
/// </summary>
internal sealed class ServiceSupervision : IDisposable
{
    private const string WatchdogMicroseconds = "WATCHDOG_USEC";
    private const string WatchdogProcess = "WATCHDOG_PID";

    /// <summary>Signs in the time that the manager allows: one may come late, and one may be lost.</summary>
    private const int SignsPerLimit = 3;

    private static readonly TimeSpan _slowest = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan _fastest = TimeSpan.FromMilliseconds(10);

    private readonly Lock _gate = new();
    private readonly ServiceNotifier _manager;
    private readonly Func<bool> _isServing;
    private readonly Func<string> _describe;
    private readonly bool _isWatched;
    private readonly TimeSpan _period;
    private readonly TimeProvider _time;
    private ITimer? _timer;
    private string _said = "";
    private bool _isStopping;
    private bool _isDisposed;

    private ServiceSupervision(
        ServiceNotifier manager, TimeSpan? limit, TimeProvider time, Func<bool> isServing, Func<string> describe)
    {
        _manager = manager;
        _isServing = isServing;
        _describe = describe;
        _isWatched = limit is not null;
        _period = limit is { } watched ? Clamp(watched / SignsPerLimit) : _slowest;
        _time = time;
    }

    /// <summary>Finds the manager of this process; null: it has none, or one that hears nothing.</summary>
    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    /// <param name="processId">This process.</param>
    /// <param name="time">The clock.</param>
    /// <param name="isServing">Whether the process serves. Called every few seconds, by one thread at a time; must not wait.</param>
    /// <param name="describe">What the process does, in one line. The same.</param>
    public static ServiceSupervision? Find(
        Func<string, string?> environment, int processId, TimeProvider time, Func<bool> isServing, Func<string> describe) =>
        ServiceNotifier.At(environment(ServiceNotifier.Variable)) is { } manager
            ? new ServiceSupervision(manager, LimitOf(environment, processId), time, isServing, describe)
            : null;

    /// <summary>The process serves. From here on the manager hears of it regularly.</summary>
    public void Ready()
    {
        lock (_gate)
        {
            if (_isDisposed || _timer is not null)
            {
                return;
            }

            _manager.Send("READY=1\n" + Status(force: true));
            _timer = _time.CreateTimer(static self => ((ServiceSupervision)self!).Look(), this, _period, _period);
        }
    }

    /// <summary>The process has begun to stop. It is watched until its end.</summary>
    public void Stopping()
    {
        lock (_gate)
        {
            if (!_isDisposed && !_isStopping)
            {
                _isStopping = true;
                _manager.Send("STOPPING=1\nSTATUS=stopping: running requests are finished");
            }
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        lock (_gate)
        {
            _isDisposed = true;
            _timer?.Dispose();
        }
    }

    private static TimeSpan Clamp(TimeSpan period) => period < _fastest ? _fastest : period > _slowest ? _slowest : period;

    /// <summary>The time in which the manager wants a sign; null: it wants none of this process.</summary>
    private static TimeSpan? LimitOf(Func<string, string?> environment, int processId)
    {
        var isMeant = environment(WatchdogProcess) is not { Length: > 0 } meant
            || meant == processId.ToString(CultureInfo.InvariantCulture);
        return isMeant
            && long.TryParse(environment(WatchdogMicroseconds), NumberStyles.None, CultureInfo.InvariantCulture, out var limit)
            && limit is > 0 and <= int.MaxValue * 1000L
            ? TimeSpan.FromMicroseconds(limit)
            : null;
    }

    private void Look()
    {
        lock (_gate)
        {
            if (_isDisposed)
            {
                return;
            }

            var sign = _isServing() && _isWatched ? "WATCHDOG=1\n" : "";
            var message = sign + (_isStopping ? "" : Status(force: false));
            if (message.Length > 0)
            {
                _manager.Send(message);
            }
        }
    }

    /// <summary>The line about what the process does; empty: it was sent before. A line break would begin a message of its own.</summary>
    private string Status(bool force)
    {
        var text = PlainText.Clean(_describe());
        if (text == _said && !force)
        {
            return "";
        }

        _said = text;
        return $"STATUS={text}";
    }
}
