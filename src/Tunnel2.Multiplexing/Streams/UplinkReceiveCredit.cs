using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol;
using Tunnel2.Protocol.FlowControl;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>
/// What an uplink grants its peer for all streams together. Stalled streams hold part of the window: when they hold half of it, it
/// borrows from the process's <see cref="ReceiveBudget"/> and grants more. It pays back as they are consumed or cut. Thread-safe.
/// </summary>
internal sealed class UplinkReceiveCredit
{
    private readonly ShortLock _gate = new();
    private readonly UplinkStreams _uplink;
    private readonly ReceiveBudget _budget;
    private readonly int _initial;
    private ReceiveWindow _window;

    /// <summary>Bytes of header blocks that wait after others: they have no credit, but take memory.</summary>
    private int _heads;

    /// <summary>What may be held without a report: the first portion, and what has been reported.</summary>
    private int _reported = ReceiveBudget.Portion;

    /// <param name="uplink">Whose credit it is: its settings have the window to begin with, and the budget.</param>
    public UplinkReceiveCredit(UplinkStreams uplink)
    {
        _uplink = uplink;
        _budget = uplink.Settings.ReceiveBudget;
        _initial = uplink.Settings.ReceiveUplinkWindow;
        _window = new ReceiveWindow(_initial);
    }

    /// <summary>The window as it is now: for tests of conservation.</summary>
    public (int Granted, int Held, int Returnable, int Size) Window
    {
        get
        {
            using (_gate.EnterScope())
            {
                return (_window.Granted, _window.Held, _window.Returnable, _window.Size);
            }
        }
    }

    /// <summary>Whether anything has been reported to the budget and not taken back.</summary>
    public bool HasReported
    {
        get
        {
            using (_gate.EnterScope())
            {
                return _reported > ReceiveBudget.Portion;
            }
        }
    }

    /// <summary>Body bytes arrived.</summary>
    /// <returns>False when the peer sent more than it may.</returns>
    public bool TryReceive(int count)
    {
        int increment, report;
        using (_gate.EnterScope())
        {
            if (!_window.TryReceive(count))
            {
                return false;
            }

            increment = IsLowUnsynchronized ? BorrowUnsynchronized() : 0;
            report = ReportUnsynchronized();
        }

        Settle(increment, report);
        return true;
    }

    /// <summary>Body bytes were consumed, or thrown away.</summary>
    public void Return(int count)
    {
        if (count == 0)
        {
            return;
        }

        int increment, report;
        using (_gate.EnterScope())
        {
            if (_window.Size > _initial && _window.Granted >= _initial / 4 * 3)
            {
                var repaid = Math.Min(count, _window.Size - _initial);
                _window.Retire(repaid);
                count -= repaid;
            }

            increment = _window.Consume(count, _initial / 4);
            report = ReportUnsynchronized();
        }

        Settle(increment, report);
    }

    /// <summary>A header block waits after another one of its stream, or (negative) no longer does.</summary>
    public void CountHead(int length)
    {
        int report;
        using (_gate.EnterScope())
        {
            _heads += length;
            report = ReportUnsynchronized();
        }

        Settle(0, report);
    }

    /// <summary>Grants more where stalled streams hold the window, and the budget has room.</summary>
    public void BorrowIfLow()
    {
        int increment;
        using (_gate.EnterScope())
        {
            increment = IsLowUnsynchronized ? BorrowUnsynchronized() : 0;
        }

        Settle(increment, 0);
    }

    /// <summary>With a window of a few portions it is not worth it.</summary>
    private bool IsLowUnsynchronized =>
        _window.Granted < _initial / 2 && _window.Held >= _initial / 4 && _initial >= 4 * ReceiveBudget.Portion;

    private int BorrowUnsynchronized()
    {
        var by = _initial / 4;
        return _window.Size <= ProtocolLimits.MaxCredit - by && _budget.HasRoomFor(by) ? _window.Grow(by) : 0;
    }

    /// <summary>What to report to the budget, so that it knows what is held to within two portions.</summary>
    private int ReportUnsynchronized()
    {
        var held = _window.Held + _heads;
        if (held > _reported
            || _reported - held > 2 * ReceiveBudget.Portion
            || (held < ReceiveBudget.Portion / 2 && _reported > ReceiveBudget.Portion))
        {
            // In portions, and down only from well below, so that it does not swing.
            var portions = Math.Max(1, (held + ReceiveBudget.Portion - 1) / ReceiveBudget.Portion);
            var change = (portions * ReceiveBudget.Portion) - _reported;
            _reported += change;
            return change;
        }

        return 0;
    }

    private void Settle(int increment, int report)
    {
        if (report > 0)
        {
            _budget.Take(_uplink, report);
        }
        else if (report < 0)
        {
            _budget.Return(-report);
        }

        if (increment > 0)
        {
            _uplink.Sending.Control.AddUplinkCredit(increment);
        }
    }
}
