using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Forwarding;

/// <summary>A linked list of requests under way, so that a request costs two short locks and no memory. Thread-safe.</summary>
internal sealed class WatchedRequests
{
    private readonly Lock _gate = new();
    private readonly ForwardedRequest _list = new();

    public WatchedRequests()
    {
        _list.Next = _list;
        _list.Previous = _list;
    }

    public void Add(ForwardedRequest request)
    {
        lock (_gate)
        {
            request.Previous = _list.Previous;
            request.Next = _list;
            _list.Previous!.Next = request;
            _list.Previous = request;
        }
    }

    public void Remove(ForwardedRequest request)
    {
        lock (_gate)
        {
            request.Previous!.Next = request.Next;
            request.Next!.Previous = request.Previous;
            request.Next = null;
            request.Previous = null;
        }
    }

    /// <summary>Shows all of them, under the lock.</summary>
    public void Visit(Action<ForwardedRequest> look)
    {
        lock (_gate)
        {
            for (var request = _list.Next!; request != _list; request = request.Next!)
            {
                look(request);
            }
        }
    }
}
