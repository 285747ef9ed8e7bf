using System.Runtime.InteropServices;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.HubLoad;

/// <summary>What uses up a resource of the measured process, until it is stopped: processors, memory, threads.</summary>
internal sealed unsafe class ServerLoads : IDisposable
{
    private const int Piece = 64 << 20;
    private const int MostPieces = 64;
    private const int StackBytes = 128 << 10;

    /// <summary>More threads than processors, so that they get a share on a machine that is busy with other work, too.</summary>
    private const int BurningPerProcessor = 4;

    private readonly List<nint> _held = [];
    private readonly ManualResetEventSlim _end = new();
    private readonly List<Thread> _parked = [];
    private readonly List<Thread> _burning = [];
    private volatile bool _burns;

    /// <summary>Keeps all processors busy, or no more.</summary>
    public void Burn(bool on)
    {
        _burns = on;
        if (on)
        {
            for (int i = 0; i < BurningPerProcessor * Environment.ProcessorCount; i++)
            {
                _burning.Add(Start(Spin, "burn"));
            }
        }
        else
        {
            _burning.ForEach(static thread => thread.Join());
            _burning.Clear();
        }
    }

    /// <summary>Holds memory until this share of the container's is used, at most 4 GiB; 0: gives it back.</summary>
    public void Hold(double share)
    {
        var usage = new ContainerUsage(TimeProvider.System);
        while (_held.Count < MostPieces && usage.Read().Memory < share)
        {
            void* piece = NativeMemory.Alloc(Piece);
            NativeMemory.Fill(piece, Piece, 1);
            _held.Add((nint)piece);
        }

        if (share == 0)
        {
            _held.ForEach(static piece => NativeMemory.Free((void*)piece));
            _held.Clear();
        }
    }

    /// <summary>Has this many more threads, which only wait; 0: ends them.</summary>
    public void Park(int count)
    {
        for (int i = 0; i < count; i++)
        {
            _parked.Add(Start(_end.Wait, "parked"));
        }

        if (count == 0)
        {
            _end.Set();
            _parked.ForEach(static thread => thread.Join());
            _parked.Clear();
            _end.Reset();
        }
    }

    public void Dispose()
    {
        Burn(false);
        Hold(0);
        Park(0);
        _end.Dispose();
    }

    private static Thread Start(ThreadStart body, string name)
    {
        var thread = new Thread(body, StackBytes) { IsBackground = true, Name = name };
        thread.Start();
        return thread;
    }

    private void Spin()
    {
        while (_burns)
        {
            Thread.SpinWait(1000);
        }
    }
}
