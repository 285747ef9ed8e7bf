using System.IO.Pipelines;

namespace Tunnel2.Transport.Epoll;

/// <summary>See <see cref="EpollLoop.Turns"/>.</summary>
internal sealed class LoopTurns(EpollLoop loop) : PipeScheduler
{
    /// <inheritdoc/>
    public override void Schedule(Action<object?> action, object? state) => loop.ScheduleTurn(action, state);
}
