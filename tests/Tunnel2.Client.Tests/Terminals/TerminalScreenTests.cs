using Tunnel2.Client.Terminals;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Terminals;

public sealed class TerminalScreenTests : IDisposable
{
    private readonly ManualTimeProvider _time = new();
    private readonly FakeTerminal _terminal = new(20, 4);
    private readonly Content _content = new();
    private readonly TerminalScreen _screen;

    public TerminalScreenTests() => _screen = new TerminalScreen(_terminal, _content, _time, hasColors: true);

    /// <summary>Rows that the test sets.</summary>
    private sealed class Content : IScreenContent
    {
        public List<ScreenKey> Keys { get; } = [];

        public string[] Rows { get; set; } = ["one", "two"];

        public int Renders { get; private set; }

        public long Version { get; set; }

        public void OnKey(ScreenKey key) => Keys.Add(key);

        public IReadOnlyList<ScreenRow> Render(int columns, int rows)
        {
            Renders++;
            return [.. Rows.Select(static row => ScreenRow.Of(row, ScreenStyle.Good))];
        }
    }

    public void Dispose() => _screen.Dispose();

    private void Turn() => _screen.Turn(TimeSpan.Zero);

    [Fact]
    public void It_is_shown_beside_what_the_shell_had_which_comes_back_at_the_end()
    {
        _terminal.Screen.Write("$ tunnel2 http 3000\r\n"u8);
        Turn();
        Assert.Equal("one\ntwo", _terminal.Screen.Text);
        Assert.True(_terminal.Screen.IsAlternate);
        Assert.False(_terminal.Screen.IsCursorVisible);
        Assert.True(_terminal.IsRaw);

        _screen.Dispose();
        Assert.Equal("$ tunnel2 http 3000", _terminal.Screen.Text);
        Assert.True(_terminal.Screen.IsCursorVisible);
        Assert.False(_terminal.IsRaw);
        Assert.True(_terminal.IsDisposed);
        Assert.Empty(_terminal.Screen.Unknown);
    }

    [Fact]
    public void Only_rows_that_have_changed_are_written()
    {
        Turn();
        long before = _terminal.Written;
        _content.Rows = ["one", "TWO"];
        _content.Version++;
        Turn();
        Assert.Equal("one\nTWO", _terminal.Screen.Text);
        Assert.InRange(_terminal.Written - before, 1, 30);
    }

    [Fact]
    public void Without_a_change_it_is_drawn_once_a_second()
    {
        Turn();
        Turn();
        Assert.Equal(1, _content.Renders);
        _time.Advance(TimeSpan.FromSeconds(1));
        Turn();
        Assert.Equal(2, _content.Renders);
    }

    [Fact]
    public void Another_size_draws_everything_anew()
    {
        Turn();
        _terminal.Screen.Resize(30, 6);
        _terminal.Screen.Write("\x1b[Hgarbage"u8);
        Turn();
        Assert.Equal("one\ntwo", _terminal.Screen.Text);
    }

    [Fact]
    public void Ctrl_L_draws_everything_anew()
    {
        Turn();
        _terminal.Screen.Write("\x1b[Hgarbage\x1b[4;1Hmore"u8);
        _terminal.Type("\f");
        Turn();
        Assert.Equal("one\ntwo", _terminal.Screen.Text);
        Assert.Empty(_content.Keys);
    }

    [Fact]
    public void A_long_row_is_cut_and_rows_below_the_terminal_are_not_shown()
    {
        _content.Rows = [new string('x', 50), "日本語日本語日本語日本語", "3", "4", "5"];
        Turn();
        Assert.Equal(new string('x', 19) + "…\n日本語日本語日本語…\n3\n4", _terminal.Screen.Text);
    }

    [Fact]
    public void A_terminal_that_takes_nothing_costs_frames_and_then_shows_the_newest()
    {
        Turn();
        _terminal.Room = 10;
        for (int i = 0; i < 1000; i++)
        {
            _content.Rows = [$"{i}", "two"];
            _content.Version++;
            Turn();
        }

        // One frame waits; the others were not even made.
        Assert.InRange(_content.Renders, 2, 3);
        _terminal.Room = null;
        Turn();
        Assert.Equal("999\ntwo", _terminal.Screen.Text);
        Assert.Empty(_terminal.Screen.Unknown);
    }

    [Fact]
    public void A_terminal_that_took_half_of_a_frame_is_put_right_all_the_same()
    {
        Turn();
        _terminal.Room = 7;
        _content.Rows = ["other", "rows"];
        _content.Version++;
        Turn();
        _terminal.Room = null;
        _screen.Dispose();
        Assert.False(_terminal.Screen.IsAlternate);
        Assert.True(_terminal.Screen.IsCursorVisible);
        Assert.Empty(_terminal.Screen.Unknown);
    }

    [Fact]
    public void A_terminal_that_is_not_read_is_put_right_before_what_it_was_to_show()
    {
        Turn();
        _terminal.Room = 7;
        _terminal.RoomAfterDiscard = 1000;
        _content.Rows = ["other", "rows"];
        _content.Version++;
        Turn();
        _screen.Dispose();
        Assert.False(_terminal.Screen.IsAlternate);
        Assert.True(_terminal.Screen.IsCursorVisible);
        Assert.False(_terminal.IsRaw);
    }

    [Fact]
    public void A_terminal_that_is_gone_ends_it()
    {
        Turn();
        _terminal.IsGone = true;
        _content.Rows = ["x"];
        _content.Version++;
        Turn();
        Assert.True(_screen.IsOver);
        Turn();
    }

    [Fact]
    public void Suspended_it_gives_the_terminal_back_and_draws_everything_when_it_is_continued()
    {
        Turn();
        _screen.Suspend();
        Assert.False(_terminal.Screen.IsAlternate);
        Assert.False(_terminal.IsRaw);

        // Not before it was continued: the process stops a moment later.
        Turn();
        Assert.False(_terminal.Screen.IsAlternate);

        // 'bg': the terminal is the shell's.
        _screen.Resume();
        _terminal.IsForeground = false;
        long before = _terminal.Written;
        _content.Version++;
        Turn();
        Assert.Equal(before, _terminal.Written);
        Assert.False(_terminal.IsRaw);

        _terminal.IsForeground = true;
        Turn();
        Assert.Equal("one\ntwo", _terminal.Screen.Text);
        Assert.True(_terminal.IsRaw);
    }

    [Fact]
    public void The_end_of_the_process_by_a_fault_puts_the_terminal_right()
    {
        Turn();
        _screen.OnEnd(null, EventArgs.Empty);
        Assert.False(_terminal.Screen.IsAlternate);
        Assert.True(_terminal.Screen.IsCursorVisible);
        Assert.False(_terminal.IsRaw);
        Turn();
        Assert.False(_terminal.Screen.IsAlternate);
    }

    [Fact]
    public void Without_colours_only_bold_and_reverse_are_left()
    {
        Assert.Equal("\x1b[32mx\x1b[0m", ScreenRow.Of("x", ScreenStyle.Good).ToAnsi(5, hasColors: true));
        Assert.Equal(
            "xx\x1b[1mx\x1b[0m\x1b[7mx\x1b[0mx",
            new ScreenRow().Add("x", ScreenStyle.Good).Add("x", ScreenStyle.Bad).Add("x", ScreenStyle.Strong).Add("x", ScreenStyle.Marked)
                .Add("x", ScreenStyle.Paper).ToAnsi(5, hasColors: false));
    }
}
