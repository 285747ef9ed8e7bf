using System.Buffers.Binary;
using System.Collections.Concurrent;
using System.Globalization;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>One connection of a service of HTTP/2 that answers each planned exchange as planned.</summary>
internal sealed class Http2PlanService(
    RawConnection connection, IReadOnlyDictionary<int, PlannedExchange> plan, ConcurrentDictionary<int, SeenMessage> seen) : IDisposable
{
    private const int MaxFrame = 16 * 1024;

    private readonly SemaphoreSlim _sending = new(1, 1);
    private readonly Lock _gate = new();
    private readonly Dictionary<int, Exchange> _exchanges = [];
    private readonly List<Task> _answers = [];
    private TaskCompletionSource _credited = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private long _window = 65_535;
    private int _streamWindow = 65_535;
    private List<byte> _block = [];
    private bool _blockEnds;

    public async Task RunAsync()
    {
        await connection.ReadExactlyAsync(24);
        await SendAsync(4, 0, 0, []);
        try
        {
            while (true)
            {
                var header = await connection.ReadExactlyAsync(9);
                var length = BinaryPrimitives.ReadInt32BigEndian(header) >>> 8;
                var payload = length == 0 ? [] : await connection.ReadExactlyAsync(length);
                await OnFrameAsync(header[3], header[4], BinaryPrimitives.ReadInt32BigEndian(header.AsSpan(5)), payload);
            }
        }
        catch (RawConnectionEndedException)
        {
            Credit(null, int.MaxValue);
        }

        await Task.WhenAll(_answers);
    }

    public void Dispose() => _sending.Dispose();

    private async Task OnFrameAsync(byte type, byte flags, int id, byte[] payload)
    {
        var ends = (flags & 1) != 0;
        switch (type)
        {
            case 0:
                _exchanges[id].Body.Write(payload);
                if (payload.Length > 0)
                {
                    var credit = Http2ServiceConnection.Number((uint)payload.Length);
                    await SendAsync(8, 0, 0, credit);
                    await SendAsync(8, 0, id, credit);
                }

                OnPart(id, ends);
                break;
            case 1 or 9:
                _block.AddRange(payload);
                if (type == 1)
                {
                    _blockEnds = ends;
                }

                if ((flags & 4) != 0)
                {
                    OnBlock(id, PlainHpack.Decode([.. _block]));
                    _block = [];
                }

                break;
            case 4 when (flags & 1) == 0:
                for (var i = 0; i < payload.Length; i += 6)
                {
                    if (payload[i + 1] == 4)
                    {
                        _streamWindow = BinaryPrimitives.ReadInt32BigEndian(payload.AsSpan(i + 2));
                    }
                }

                await SendAsync(4, 1, 0, []);
                break;
            case 6 when (flags & 1) == 0:
                await SendAsync(6, 1, 0, payload);
                break;
            case 8:
                Credit(id == 0 ? null : _exchanges.GetValueOrDefault(id), BinaryPrimitives.ReadInt32BigEndian(payload));
                break;
            default:
                break;
        }
    }

    private void OnBlock(int id, List<(string Name, string Value)> fields)
    {
        if (_exchanges.TryGetValue(id, out var known))
        {
            known.Trailers = fields;
        }
        else
        {
            var number = fields.Single(static field => field.Name == PlannedExchange.NumberField).Value;
            var planned = plan[int.Parse(number, CultureInfo.InvariantCulture)];
            _exchanges[id] = known = new Exchange(id, planned, fields) { Window = _streamWindow };
        }

        OnPart(id, _blockEnds);
    }

    private void OnPart(int id, bool isLast)
    {
        var exchange = _exchanges[id];
        if (isLast && !exchange.Plan.IsAnsweredEarly)
        {
            seen[exchange.Plan.Number] = exchange.See();
        }

        if ((isLast || exchange.Plan.IsAnsweredEarly) && !exchange.IsAnswered)
        {
            exchange.IsAnswered = true;
            _answers.Add(AnswerAsync(exchange));
        }
    }

    private async Task AnswerAsync(Exchange exchange)
    {
        var answer = exchange.Plan.Response;
        foreach (var (status, fields) in answer.Interims)
        {
            await SendBlockAsync(exchange.Id, false, [(":status", $"{status}"), .. Http2Side.Lower(fields)]);
        }

        var length = answer.Body.Sum(static piece => piece.Length);
        (string, string)[] declared = answer.Framing == BodyFraming.Length ? [("content-length", $"{length}")] : [];
        var sends = answer.Framing != BodyFraming.None && exchange.Plan.Method != "HEAD";
        await SendBlockAsync(exchange.Id, !sends, [(":status", $"{answer.Status}"), .. Http2Side.Lower(answer.Fields), .. declared]);
        if (!sends)
        {
            return;
        }

        foreach (var piece in answer.Body)
        {
            await SendDataAsync(exchange, piece);
        }

        if (answer.Trailers.Length > 0)
        {
            await SendBlockAsync(exchange.Id, true, [.. Http2Side.Lower(answer.Trailers)]);
        }
        else
        {
            await SendAsync(0, 1, exchange.Id, []);
        }
    }

    private async Task SendDataAsync(Exchange exchange, ReadOnlyMemory<byte> data)
    {
        while (!data.IsEmpty)
        {
            int length;
            Task credited;
            lock (_gate)
            {
                credited = _credited.Task;
                length = (int)Math.Min(Math.Min(data.Length, MaxFrame), Math.Min(_window, exchange.Window));
                _window -= length;
                exchange.Window -= length;
            }

            if (length == 0)
            {
                await credited;
                continue;
            }

            await SendAsync(0, 0, exchange.Id, data[..length].ToArray());
            data = data[length..];
        }
    }

    private Task SendBlockAsync(int id, bool end, (string Name, string Value)[] fields) =>
        SendAsync(1, (byte)(4 | (end ? 1 : 0)), id, PlainHpack.Encode(fields));

    private async Task SendAsync(byte type, byte flags, int id, byte[] payload)
    {
        await _sending.WaitAsync();
        try
        {
            await connection.WriteAsync(Http2ServiceConnection.Frame(type, flags, id, payload));
        }
        catch (IOException)
        {
            // The reader learns it too.
        }
        finally
        {
            _sending.Release();
        }
    }

    private void Credit(Exchange? exchange, int bytes)
    {
        TaskCompletionSource credited;
        lock (_gate)
        {
            if (exchange is null)
            {
                _window += bytes;
            }
            else
            {
                exchange.Window += bytes;
            }

            foreach (var other in bytes == int.MaxValue ? [.. _exchanges.Values] : Array.Empty<Exchange>())
            {
                other.Window += bytes;
            }

            credited = _credited;
            _credited = new(TaskCreationOptions.RunContinuationsAsynchronously);
        }

        credited.SetResult();
    }

    private sealed class Exchange(int id, PlannedExchange plan, List<(string Name, string Value)> head)
    {
        public int Id => id;

        public PlannedExchange Plan => plan;

        public MemoryStream Body { get; } = new();

        public List<(string Name, string Value)> Trailers { get; set; } = [];

        public long Window { get; set; }

        public bool IsAnswered { get; set; }

        public SeenMessage See() => new()
        {
            Start = [$"method {Of(":method")}", $"target {Of(":path")}", $"host {Of(":authority")}"],
            Fields = [.. head.Where(static field => field.Name[0] != ':')],
            Body = Body.ToArray(),
            Trailers = Trailers,
        };

        private string Of(string name) => string.Join(" | ", head.Where(field => field.Name == name).Select(static field => field.Value));
    }
}
